#include "../../blklist/blklist.h"
#include "pageknode.h"

int
main(int argc, char **argv)
{
	blklist_start_prefault_thread();
	return nodes_main(argc, argv);
}
