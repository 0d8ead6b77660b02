// What the sources of leat/summary.h share (summary.c, chart_layout.c, hparams.c): a kind of
// summary is a function that makes its value, and these turn it into an event or into bytes.
#ifndef LEAT_CAPI_LEAT_SUMMARY_H_
#define LEAT_CAPI_LEAT_SUMMARY_H_

#include "capi/handles.h"
#include "formats/record/event.h"
#include "leat/summary.h"

// Fields of the oneof of a Summary.Value (its value_case).
enum { LEAT_SUMMARY_IMAGE = 4, LEAT_SUMMARY_AUDIO = 6, LEAT_SUMMARY_TENSOR = 8 };

// Makes |value|, which is zero, of |request|, whose type is the function's own. What it refers to
// lies in |arena| or is the caller's.
typedef leat_status_t (*leat_summary_make_t)(const void* request, leat_arena_t* arena,
                                             leat_pb_summary_value_t* value);

// Returns false, with an error in |status|, where the file was never opened (events.c).
bool leat_events_check_open(const leat_events_t* events, TF_Status* status);
// Adds what |make| makes to |events|, which may be NULL (FAILED_PRECONDITION).
void leat_summary_add(leat_events_t* events, int64_t step, leat_summary_make_t make,
                      const void* request, TF_Status* status);
// A serialised Summary of it; NULL on error.
TF_Buffer* leat_summary_encode(leat_summary_make_t make, const void* request, TF_Status* status);

// |text| as a view. INVALID_ARGUMENT "<verb> failed: <field> is ..." where it is NULL or not UTF-8,
// and for a name also where it is empty.
LEAT_MUST_USE leat_status_t leat_summary_take_text(const char* verb, const char* field,
                                                   const char* text, leat_string_view_t* out_text);
LEAT_MUST_USE leat_status_t leat_summary_take_name(const char* verb, const char* field,
                                                   const char* text, leat_string_view_t* out_text);
// INVALID_ARGUMENT unless |items| are there, or |count| is 0.
LEAT_MUST_USE leat_status_t leat_summary_check_list(const char* verb, const char* field,
                                                    const void* items, int64_t count);

// Sets the metadata by which readers know whose value it is.
LEAT_MUST_USE leat_status_t leat_summary_set_metadata(const char* plugin,
                                                      leat_string_view_t content,
                                                      leat_arena_t* arena,
                                                      leat_pb_summary_value_t* value);
// Makes the value a string tensor without dimensions, or a tensor of |count| floats.
LEAT_MUST_USE leat_status_t leat_summary_set_string(leat_string_view_t text, leat_arena_t* arena,
                                                    leat_pb_summary_value_t* value);
LEAT_MUST_USE leat_status_t leat_summary_set_floats(int rank, const int64_t* dims, float* values,
                                                    size_t count, leat_arena_t* arena,
                                                    leat_pb_summary_value_t* value);

#endif  // LEAT_CAPI_LEAT_SUMMARY_H_
