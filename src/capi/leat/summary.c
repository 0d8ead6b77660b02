// The summaries of leat/summary.h that are values of their own: texts, images, sound, the
// RunMetadata of a step, and curves of precision and recall. chart_layout.c and hparams.c have
// those that describe a whole run.
//
// Each kind of summary is made by one function, from what the caller passed to a Summary.Value in
// an arena, and it refuses what the board could not show: a file that is no image, a label between
// 0 and 1, bytes that are not UTF-8, for which TensorBoard would drop the whole event. What is made
// is then either added to an event file or encoded for another writer (leat_summary_add and
// leat_summary_encode), so that C and Python have the same values and the same errors. The names of
// plugins, tags and fields are TensorBoard's (version 2.21), and so is the arithmetic of the
// curves: a prediction falls into the bucket of the highest threshold that it reaches, and counts
// are sums over buckets from the last one down.
#include "capi/leat/summary.h"

#include <math.h>

#include "formats/generated/run_metadata.h"
#include "formats/media/wav.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/utf8.h"

#define DTYPE_FLOAT 1
#define DTYPE_STRING 7
#define MAX_THRESHOLDS (1 << 20)
#define MIN_COUNT 1e-7  // divides where nothing was predicted, as in TensorBoard

// ---- What all kinds share -----------------------------------------------------------------------

leat_status_t leat_summary_take_text(const char* verb, const char* field, const char* text,
                                     leat_string_view_t* out_text) {
  if (!text) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "%s failed: %s is NULL, must be a text", verb,
                            field);
  }
  *out_text = leat_string_view_from(text);
  if (leat_utf8_is_valid(*out_text)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "%s failed: %s is a text of %zu bytes that are not UTF-8, must be UTF-8",
                          verb, field, out_text->size);
}

leat_status_t leat_summary_take_name(const char* verb, const char* field, const char* text,
                                     leat_string_view_t* out_text) {
  LEAT_RETURN_IF_ERROR(leat_summary_take_text(verb, field, text, out_text));
  if (out_text->size) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s failed: %s is '', must not be empty", verb,
                          field);
}

leat_status_t leat_summary_check_list(const char* verb, const char* field, const void* items,
                                      int64_t count) {
  if (count < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s failed: the number of %s is %lld, must be at least 0", verb, field,
                            (long long)count);
  }
  if (items || !count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s failed: %s is NULL, must be a list of %lld",
                          verb, field, (long long)count);
}

leat_status_t leat_summary_set_metadata(const char* plugin, leat_string_view_t content,
                                        leat_arena_t* arena, leat_pb_summary_value_t* value) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value->metadata));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value->metadata->plugin_data));
  value->metadata->plugin_data->plugin_name = leat_string_view_from(plugin);
  value->metadata->plugin_data->content = content;
  value->metadata->data_class = LEAT_PB_DATA_CLASS_DATA_CLASS_TENSOR;
  return leat_ok_status();
}

leat_status_t leat_summary_set_string(leat_string_view_t text, leat_arena_t* arena,
                                      leat_pb_summary_value_t* value) {
  value->value_case = LEAT_SUMMARY_TENSOR;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value->tensor));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value->tensor->tensor_shape));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value->tensor->string_val.items));
  value->tensor->dtype = DTYPE_STRING;
  value->tensor->string_val.items[0] = text;
  value->tensor->string_val.count = 1;
  return leat_ok_status();
}

leat_status_t leat_summary_set_floats(int rank, const int64_t* dims, float* values, size_t count,
                                      leat_arena_t* arena, leat_pb_summary_value_t* value) {
  value->value_case = LEAT_SUMMARY_TENSOR;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value->tensor));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value->tensor->tensor_shape));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)rank, &value->tensor->tensor_shape->dim.items));
  value->tensor->tensor_shape->dim.count = (size_t)rank;
  for (int i = 0; i < rank; ++i) value->tensor->tensor_shape->dim.items[i].size = dims[i];
  value->tensor->dtype = DTYPE_FLOAT;
  value->tensor->float_val = (leat_pb_float_list_t){values, count};
  return leat_ok_status();
}

static leat_status_t add_made(leat_events_t* events, int64_t step, leat_summary_make_t make,
                              const void* request, leat_arena_t* arena) {
  leat_pb_summary_value_t value = {0};
  leat_pb_summary_t summary = {.value = {&value, 1}};
  leat_pb_event_t event = {.step = step, .summary = &summary, .what_case = 5};
  LEAT_RETURN_IF_ERROR(make(request, arena, &value));
  return leat_event_writer_add((leat_event_writer_t*)events, &event);
}

void leat_summary_add(leat_events_t* events, int64_t step, leat_summary_make_t make,
                      const void* request, TF_Status* status) {
  if (!leat_events_check_open(events, status)) return;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_capi_status_set(status, add_made(events, step, make, request, &arena));
  leat_arena_deinitialize(&arena);
}

TF_Buffer* leat_summary_encode(leat_summary_make_t make, const void* request, TF_Status* status) {
  leat_pb_summary_value_t value = {0};
  leat_pb_summary_t summary = {.value = {&value, 1}};
  leat_string_builder_t bytes;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t result = make(request, &arena, &value);
  if (!result) result = leat_message_encode(&leat_pb_summary_descriptor, &summary, &bytes);
  leat_arena_deinitialize(&arena);
  return leat_capi_buffer_return(result, &bytes, status);
}

// ---- Texts, images and sound --------------------------------------------------------------------

// What a caller passed for one value that has a tag.
typedef struct tagged_s {
  const char* tag;
  const char* text;
  leat_string_view_t file;
  int width, height;
  const leat_pr_curve_t* curve;
} tagged_t;

static leat_status_t make_text(const void* request, leat_arena_t* arena,
                               leat_pb_summary_value_t* value) {
  const tagged_t* tagged = request;
  leat_string_view_t text;
  LEAT_RETURN_IF_ERROR(leat_summary_take_name("AddText", "tag", tagged->tag, &value->tag));
  LEAT_RETURN_IF_ERROR(leat_summary_take_text("AddText", "text", tagged->text, &text));
  LEAT_RETURN_IF_ERROR(leat_summary_set_metadata("text", LEAT_SV(""), arena, value));
  return leat_summary_set_string(text, arena, value);
}

void leat_events_add_text(leat_events_t* events, int64_t step, const char* tag, const char* text,
                          TF_Status* status) {
  leat_summary_add(events, step, make_text, &(tagged_t){.tag = tag, .text = text}, status);
}

static bool is_image(leat_string_view_t file) {
  return leat_string_view_starts_with(file, LEAT_SV("\x89PNG\r\n\x1a\n")) ||
         leat_string_view_starts_with(file, LEAT_SV("\xff\xd8\xff")) ||
         leat_string_view_starts_with(file, LEAT_SV("GIF87a")) ||
         leat_string_view_starts_with(file, LEAT_SV("GIF89a"));
}

// The colour space stays unset: no reader asks for it, and to know it the file had to be decoded.
static leat_status_t make_image(const void* request, leat_arena_t* arena,
                                leat_pb_summary_value_t* value) {
  const tagged_t* tagged = request;
  LEAT_RETURN_IF_ERROR(leat_summary_take_name("AddImage", "tag", tagged->tag, &value->tag));
  if (!is_image(tagged->file)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "AddImage failed for tag '%s': the file is %zu bytes that begin as no "
                            "image does, must be a PNG, JPEG or GIF file",
                            tagged->tag, tagged->file.size);
  }
  if (tagged->width < 1 || tagged->height < 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "AddImage failed for tag '%s': the size is %d x %d, must be at least "
                            "1 x 1",
                            tagged->tag, tagged->width, tagged->height);
  }
  value->value_case = LEAT_SUMMARY_IMAGE;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value->image));
  *value->image = (leat_pb_summary_image_t){.encoded_image_string = tagged->file,
                                            .height = tagged->height, .width = tagged->width};
  return leat_ok_status();
}

void leat_events_add_image(leat_events_t* events, int64_t step, const char* tag, const void* file,
                           size_t size_bytes, int width, int height, TF_Status* status) {
  tagged_t tagged = {.tag = tag, .file = leat_string_view_make(file, file ? size_bytes : 0),
                     .width = width, .height = height};
  leat_summary_add(events, step, make_image, &tagged, status);
}

static leat_status_t make_audio(const void* request, leat_arena_t* arena,
                                leat_pb_summary_value_t* value) {
  const tagged_t* tagged = request;
  leat_wav_t wav;
  LEAT_RETURN_IF_ERROR(leat_summary_take_name("AddAudio", "tag", tagged->tag, &value->tag));
  LEAT_RETURN_IF_ERROR(leat_status_annotate(leat_wav_decode(tagged->file, &wav),
                                            "AddAudio failed for tag '%s'", tagged->tag));
  value->value_case = LEAT_SUMMARY_AUDIO;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value->audio));
  *value->audio = (leat_pb_summary_audio_t){.num_channels = wav.channel_count,
                                            .length_frames = wav.frame_count,
                                            .encoded_audio_string = tagged->file,
                                            .content_type = LEAT_SV("audio/wav"),
                                            .sample_rate = (float)wav.frames_per_second};
  return leat_ok_status();
}

void leat_events_add_audio(leat_events_t* events, int64_t step, const char* tag, const void* file,
                           size_t size_bytes, TF_Status* status) {
  tagged_t tagged = {.tag = tag, .file = leat_string_view_make(file, file ? size_bytes : 0)};
  leat_summary_add(events, step, make_audio, &tagged, status);
}

// ---- The RunMetadata of a step ------------------------------------------------------------------

// Decodes |bytes| for the sake of the check alone: an event with other bytes would be found to be
// broken only when somebody looks at the graph. What is written are the bytes as they came, with
// fields that this version does not know.
static leat_status_t add_run_metadata(leat_event_writer_t* writer, int64_t step, const char* tag,
                                      leat_string_view_t bytes, leat_arena_t* arena) {
  leat_pb_run_metadata_t* metadata;
  leat_pb_tagged_run_metadata_t tagged = {.run_metadata = bytes};
  leat_pb_event_t event = {.step = step, .tagged_run_metadata = &tagged, .what_case = 8};
  LEAT_RETURN_IF_ERROR(leat_summary_take_name("AddRunMetadata", "tag", tag, &tagged.tag));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &metadata));
  LEAT_RETURN_IF_ERROR(leat_status_annotate(
      leat_message_decode(&leat_pb_run_metadata_descriptor, bytes, arena, NULL, metadata),
      "AddRunMetadata failed for tag '%s'", tag));
  return leat_event_writer_add(writer, &event);
}

void leat_events_add_run_metadata(leat_events_t* events, int64_t step, const char* tag,
                                  const TF_Buffer* run_metadata, TF_Status* status) {
  if (!leat_events_check_open(events, status)) return;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_capi_status_set(status,
                       add_run_metadata((leat_event_writer_t*)events, step, tag,
                                        leat_capi_buffer_bytes(run_metadata), &arena));
  leat_arena_deinitialize(&arena);
}

// ---- Precision and recall -----------------------------------------------------------------------

static leat_status_t refuse_element(const char* tag, const char* field, size_t index, float value,
                                    const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "AddPrCurve failed for tag '%s': %s %zu is %g, must be %s", tag, field,
                          index, (double)value, rule);
}

// Checks all of |curve|, whose lists are there.
static leat_status_t check_curve(const char* tag, const leat_pr_curve_t* curve) {
  if (curve->threshold_count < 2 || curve->threshold_count > MAX_THRESHOLDS) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "AddPrCurve failed for tag '%s': the number of thresholds is %d, must "
                            "be 2 to %d",
                            tag, curve->threshold_count, MAX_THRESHOLDS);
  }
  for (size_t i = 0; i < curve->count; ++i) {
    float label = curve->labels[i], prediction = curve->predictions[i];
    if (label != 0 && label != 1) return refuse_element(tag, "label", i, label, "0 or 1");
    if (!(prediction >= 0 && prediction <= 1)) {
      return refuse_element(tag, "prediction", i, prediction, "from 0 to 1");
    }
    if (curve->weights && !(curve->weights[i] >= 0 && isfinite(curve->weights[i]))) {
      return refuse_element(tag, "weight", i, curve->weights[i], "finite and at least 0");
    }
  }
  return leat_ok_status();
}

// Fills the six rows of |rows| [6, width] from the weights that fell into each bucket.
static void fill_rows(const double* positives, const double* negatives, size_t width,
                      float* rows) {
  double all_positives = 0, all_negatives = 0, true_positives = 0, false_positives = 0;
  for (size_t i = width; i-- > 0;) {
    all_positives += positives[i];
    all_negatives += negatives[i];
  }
  for (size_t i = width; i-- > 0;) {
    true_positives += positives[i];
    false_positives += negatives[i];
    double false_negatives = all_positives - true_positives;
    double called = true_positives + false_positives, there = true_positives + false_negatives;
    rows[i] = (float)true_positives;
    rows[width + i] = (float)false_positives;
    rows[2 * width + i] = (float)(all_negatives - false_positives);
    rows[3 * width + i] = (float)false_negatives;
    rows[4 * width + i] = (float)(true_positives / fmax(MIN_COUNT, called));
    rows[5 * width + i] = (float)(true_positives / fmax(MIN_COUNT, there));
  }
}

// The plugin's data, a PrCurvePluginData, whose field 2 is the number of thresholds.
static leat_status_t make_curve_content(uint32_t threshold_count, leat_arena_t* arena,
                                        leat_string_view_t* out_content) {
  char bytes[6] = {0x10};
  size_t size = 1;
  for (; threshold_count > 0x7f; threshold_count >>= 7) {
    bytes[size++] = (char)(threshold_count | 0x80);
  }
  bytes[size++] = (char)threshold_count;
  return leat_arena_copy_string(arena, leat_string_view_make(bytes, size), out_content);
}

static leat_status_t make_pr_curve(const void* request, leat_arena_t* arena,
                                   leat_pb_summary_value_t* value) {
  const tagged_t* tagged = request;
  const leat_pr_curve_t* curve = tagged->curve;
  double* buckets;
  float* rows;
  leat_string_view_t content;
  LEAT_RETURN_IF_ERROR(leat_summary_take_name("AddPrCurve", "tag", tagged->tag, &value->tag));
  LEAT_RETURN_IF_ERROR(leat_summary_check_list("AddPrCurve", "curve", curve, 1));
  if (curve->count && (!curve->labels || !curve->predictions)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "AddPrCurve failed for tag '%s': %s is NULL, must be a list of %zu",
                            tagged->tag, curve->labels ? "predictions" : "labels", curve->count);
  }
  LEAT_RETURN_IF_ERROR(check_curve(tagged->tag, curve));
  size_t width = (size_t)curve->threshold_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 2 * width, &buckets));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 6 * width, &rows));
  for (size_t i = 0; i < curve->count; ++i) {
    size_t bucket = (size_t)floorf(curve->predictions[i] * (float)(width - 1));
    LEAT_DCHECK(bucket < width);
    buckets[curve->labels[i] == 1 ? bucket : width + bucket] +=
        curve->weights ? (double)curve->weights[i] : 1;
  }
  fill_rows(buckets, buckets + width, width, rows);
  LEAT_RETURN_IF_ERROR(make_curve_content((uint32_t)width, arena, &content));
  LEAT_RETURN_IF_ERROR(leat_summary_set_metadata("pr_curves", content, arena, value));
  value->metadata->display_name = value->tag;
  return leat_summary_set_floats(2, (int64_t[]){6, (int64_t)width}, rows, 6 * width, arena, value);
}

void leat_events_add_pr_curve(leat_events_t* events, int64_t step, const char* tag,
                              const leat_pr_curve_t* curve, TF_Status* status) {
  leat_summary_add(events, step, make_pr_curve, &(tagged_t){.tag = tag, .curve = curve}, status);
}

TF_Buffer* leat_summary_pr_curve(const char* tag, const leat_pr_curve_t* curve, TF_Status* status) {
  return leat_summary_encode(make_pr_curve, &(tagged_t){.tag = tag, .curve = curve}, status);
}
