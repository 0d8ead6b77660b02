// Compression of answers, for clients that are far away.
#ifndef LEAT_BOARD_GZIP_H_
#define LEAT_BOARD_GZIP_H_

#include "base/string_builder.h"

// Whether |accepted|, the value of the header Accept-Encoding or NULL, allows gzip.
bool board_gzip_is_accepted(const char* accepted);
// Replaces |*inout_body| by its gzip form where that is smaller; false, with the body unchanged,
// where it is not, or without memory.
bool board_gzip(leat_string_builder_t* inout_body);

#endif  // LEAT_BOARD_GZIP_H_
