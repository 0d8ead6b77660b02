// Summaries (section 9.1): ops that describe values as encoded Summary messages, which a client
// writes to event files for TensorBoard.
#include "ops/family.h"

#define LEAT_SUMMARY_SOURCES(X) X(audio) X(image) X(summarize)

LEAT_OP_FAMILY(summary, LEAT_SUMMARY_SOURCES)
