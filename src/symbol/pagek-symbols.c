#include "symbol.h"

int
main(int argc, char **argv)
{
	return symbol_reader_main(argc, argv);
}
