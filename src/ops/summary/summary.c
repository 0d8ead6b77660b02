// Summaries (section 9.1): values as Summary messages, which a client writes to event files.
#include "ops/family.h"

#define LEAT_SUMMARY_SOURCES(X) X(audio) X(image) X(summarize)

LEAT_OP_FAMILY(summary, LEAT_SUMMARY_SOURCES)
