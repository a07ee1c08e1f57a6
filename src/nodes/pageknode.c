/*
 * pageknode: the node as a program.
 */
#include "nodes.h"

int
main(int argc, char **argv)
{
	return nodes_main(argc, argv);
}
