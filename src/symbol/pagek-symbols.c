/*
 * The program pagek-symbols: the reader, or with "fetch" what asks servers.
 */
#include "symbol.h"

int
main(int argc, char **argv)
{
	return symbol_reader_main(argc, argv);
}
