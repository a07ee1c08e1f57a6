/*
 * prom: what a target holds and has done, in the text format of Prometheus
 * (exposition format 0.0.4): for the textfile collector of node_exporter, or
 * whoever scrapes a file.
 *
 * Vocabulary
 *	metric	a name under pagek_ with its HELP and TYPE; a counter's ends in
 *		_total, and a unit stands in the name.
 *	sample	a line: the metric, labels in braces, a number.  None has a time,
 *		which the textfile collector would refuse.
 *
 * Every sample has the labels node and target, and pid where there is one.
 * What is not known is left out and never 0.
 */
#ifndef PAGEK_PROM_H
#define PAGEK_PROM_H

#include <stdio.h>

#include "../page/view.h"
#include "../rows/row_filter.h"

/*
 * Sums by type are of the blocks that the sieve lets through, of all where it is
 * NULL; the target's own numbers are of all in any case.  Errors are the
 * stream's, for output_close().
 */
void prom_write(FILE *, const struct page_view *, struct page_sieve *,
    bool ascii);

#endif
