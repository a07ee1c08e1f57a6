/*
 * pageknode: the node as a program.
 */
#include "../../blklist/blklist.h"
#include "pageknode.h"

int
main(int argc, char **argv)
{
	blklist_begin_beside();
	return nodes_main(argc, argv);
}
