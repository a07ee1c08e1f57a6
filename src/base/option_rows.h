/*
 * option_rows: what the rows of a table of options say of their values.  The
 * file that includes it has defined ROW_STRUCT as the struct with the fields.
 *
 *	#define ROW_STRUCT struct opts
 *	then include this file
 *	... .value = NUMBER(stack, 0, 64),
 */
#include <stddef.h>

#include "option.h"

#define AT(field) .at = offsetof(ROW_STRUCT, field)

#define GIVEN { .kind = BASE_NO_FIELD }
#define FLAG(field) { .kind = BASE_FLAG, AT(field) }
#define TEXT(field) { .kind = BASE_TEXT, AT(field) }
#define TEXT_OK(field, f, clause) \
	{ .kind = BASE_TEXT, AT(field), .ok = f, .wrong = clause }
#define NUMBER(field, least, most) \
	{ .kind = BASE_NUMBER, AT(field), .min = least, .max = most }
#define NUMBER_OK(field, f, clause) \
	{ .kind = BASE_NUMBER, AT(field), .max = UINT32_MAX, .ok = f, \
	    .wrong = clause }
#define COUNT(field, least, most) \
	{ .kind = BASE_COUNT, AT(field), .min = least, .max = most }
#define SIZE(field, most, clause) \
	{ .kind = BASE_SIZE, AT(field), .max = most, .wrong = clause }
#define DESCRIPTOR(field) \
	{ .kind = BASE_DESCRIPTOR, AT(field), .max = 1 << 20 }
#define SECONDS(field) { .kind = BASE_SECONDS, AT(field) }
#define PERCENT(field, most) { .kind = BASE_PERCENT, AT(field), .max = most }
#define WORD(field, first) { .kind = BASE_WORD, AT(field), .min = first }
#define OTHER(f, clause) { .kind = BASE_OTHER, .take = f, .wrong = clause }
