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

// The most elements that one point of the series has.
uint32_t board_blob_longest(board_series_t* series);
// What a request for the points of a blob sequence names: its run and tag, the number |sample|, and
// at most |points| of its points, in the order of their steps.
LEAT_MUST_USE leat_status_t board_blob_points(board_api_t* api, const board_request_t* request,
                                              const char* plugin, uint32_t points,
                                              board_run_t** out_run, leat_string_view_t* out_tag,
                                              int64_t* out_sample,
                                              board_snapshot_t* out_snapshot);

#endif  // LEAT_BOARD_BLOB_KEY_H_
