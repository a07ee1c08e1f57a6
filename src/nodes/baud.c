/*
 * The speeds that a terminal can have.
 */
#include "../base/base.h"
#include "device.h"
#include "nodes.h"

static const struct {
	unsigned baud;
	speed_t speed;
} speeds[] = {
	{ 1200, B1200 }, { 2400, B2400 }, { 4800, B4800 }, { 9600, B9600 },
	{ 19200, B19200 }, { 38400, B38400 }, { 57600, B57600 },
	{ 115200, B115200 }, { 230400, B230400 }, { 460800, B460800 },
	{ 921600, B921600 }, { 1000000, B1000000 }, { 2000000, B2000000 },
	{ 3000000, B3000000 },
};

bool
device_speed(unsigned baud, speed_t *speed)
{
	for (size_t i = 0; i < BASE_NELEM(speeds); i++) {
		if (speeds[i].baud != baud)
			continue;
		*speed = speeds[i].speed;
		return true;
	}
	return false;
}

bool
nodes_baud_known(unsigned baud)
{
	speed_t speed;

	return device_speed(baud, &speed);
}
