/*
 * wire_stats: the numbers of STATS, in this order; part of wire.h.
 *
 * A new one comes last: those that an older node does not send are 0.
 */
#ifndef STREAM_WIRE_STATS_H
#define STREAM_WIRE_STATS_H

enum wire_stat {
	WIRE_N_RECORDS,
	WIRE_N_ALLOCS,
	WIRE_N_FREES,
	WIRE_N_FAILED,
	WIRE_N_INHERITED,
	WIRE_N_LIVE_BLOCKS,
	WIRE_N_LIVE_BYTES,
	WIRE_N_PEAK_BYTES,
	WIRE_N_MAX,		/* aRecMax */
	WIRE_N_LOST,
	WIRE_N_DUPLICATE,
	WIRE_N_UNKNOWN_FREE,
	WIRE_N_EARLIER,
	WIRE_N_ILLEGAL_TYPE,
	WIRE_N_FULL,
	WIRE_N_BAD,		/* bad records */
	WIRE_N_CYCLE_US,	/* the keeper's last pass */
	WIRE_N_HELD,		/* held back now */
	WIRE_N_SITES_FULL,	/* events whose stack found no room: they have their caller alone */
	WIRE_N_WALKS,		/* events whose stack the target had to walk */
	WIRE_N_SAMPLE,		/* mean bytes between samples; 0: every event is logged */
	WIRE_N_EST_BLOCKS,	/* live blocks and bytes as estimated from the sampled ones; */
	WIRE_N_EST_BYTES,	/* without sampling the same as LIVE_BLOCKS and LIVE_BYTES */
	WIRE_N_ARMED_MS,	/* wall clock of the last arming, ms since 1970; 0: logged since its start */
	WIRE_N_EST_PEAK_BYTES,	/* the highest that EST_BYTES has been */
	WIRE_N_STAY,		/* records that were not cancelled within their batch: what a READ of all would have */
	WIRE_N_SKIPPED,		/* bytes of a device that are in no record */
	/* Of the node alone: */
	WIRE_N_FRIENDLY_HITS,	/* numbers of nodes that were translated before */
	WIRE_N_FRIENDLY_MISSES,	/* ... and that had to be looked up */
	WIRE_N_FRIENDLY_UNKNOWN,	/* ... in vain: shown raw */
	WIRE_N_FRIENDLY_OLDEST_S,	/* age of the oldest translation that is kept, in seconds */
	WIRE_N_REQUESTS,	/* pages' requests for data that are served now */
	WIRE_N_REQUESTS_LAPSED,	/* ... that ended because nothing more was asked */
	WIRE_N_LISTINGS,	/* listings stored */
	WIRE_N_LISTINGS_REFUSED,
	WIRE_N_UP_S,		/* seconds since it was started; 0: it does not say */
	WIRE_N_GONE,		/* images that have ended and no longer have a row */
	WIRE_N_GONE_PEAK,	/* ... the highest that one of them has held, as estimated */
	WIRE_N_GONE_LOST,	/* ... their lost records */
	WIRE_N_GONE_MISSED,	/* ... those of them that had no stream */
	/* Of a target again: */
	WIRE_N_PAIRS,		/* allocations and their frees that shared a record of the target's */
	WIRE_N_UNSURE,		/* 1: its list began with what is not known to be right */
	WIRE_N_GONE_FULL,	/* of the node: blocks that full lists of images without a row refused */
	WIRE_N_PEAK_MOST,	/* more than that the target never held at once; 0: not told */
	WIRE_N_GONE_PEAK_MOST,	/* of the node: the highest of those of images without a row */
	WIRE_STATS_COUNT
};

#define WIRE_STATS_FIRST (WIRE_N_WALKS + 1)	/* as many as the first version had */

#endif
