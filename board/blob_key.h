// The names under which images and sounds are fetched: TensorBoard's, which are the JSON list
// ["", plugin, run, tag, step, index] in base 64 for URLs without padding.
#ifndef LEAT_BOARD_BLOB_KEY_H_
#define LEAT_BOARD_BLOB_KEY_H_

#include "board/api.h"
#include "formats/generated/summary.h"

// Appends the key.
void board_blob_key_print(const char* plugin, leat_string_view_t run, leat_string_view_t tag,
                          int64_t step, uint32_t index, leat_string_builder_t* out);
// The bytes that |key| names, in the request's arena. INVALID_ARGUMENT for what is no key,
// NOT_FOUND where there is nothing (any more).
LEAT_MUST_USE leat_status_t board_blob_key_read(board_api_t* api, const board_request_t* request,
                                                const char* plugin, leat_string_view_t key,
                                                leat_string_view_t* out_bytes);

#endif  // LEAT_BOARD_BLOB_KEY_H_
