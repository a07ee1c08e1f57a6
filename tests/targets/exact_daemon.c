/*
 * exact_daemon FILE: becomes a daemon by daemon(3), closes every descriptor,
 * allocates, and writes FILE when it is done.  Without FILE it does so at once,
 * in the foreground.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	char *kept[50];
	int fd;

	for (int i = 0; i < 50; i++)
		kept[i] = malloc(200);
	if (argc > 1 && daemon(1, 0) != 0)
		return 2;
	for (fd = 0; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 50; i += 2)
		free(kept[i]);
	for (int i = 0; i < 1000; i++)
		free(malloc((size_t)i));
	if (argc > 1) {
		fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
		/* Were a descriptor of a monitor left, this would not be 0. */
		dprintf(fd, "fd=%d\n", fd);
		close(fd);
	}
	return 8;
}
