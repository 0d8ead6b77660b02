// The inspection leat inspect events: prints the content of a TensorBoard event file, one line for
// each value: its step, time, tag and value. Images, sounds and histograms are described in a few
// words. An event file is a TFRecord file of Event messages; they are read through views
// (leat/inspect.h), without decoding them into structs. The times are printed in UTC, so that the
// output does not depend on the machine.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "element.h"
#include "inspect.h"
#include "json.h"
#include "leat/files.h"
#include "leat/inspect.h"

// A value of an event, ready to be printed.
typedef struct line_s {
  int64_t step;
  double wall_time;
  const char* tag;  // not NUL-terminated, borrowed from the message
  size_t tag_size;
  const char* kind;
  double number;    // the value of a scalar
  bool has_number;
  char text[128];   // the value in words, where there is no number
} line_t;

// Prints a line for people, or an object for programs.
static void print_line(const line_t* line, bool as_json) {
  if (as_json) {
    printf("{\"step\": %lld, \"wall_time\": %.6f, \"tag\": ", (long long)line->step,
           line->wall_time);
    json_print_string(stdout, line->tag, line->tag_size);
    printf(", \"kind\": \"%s\", \"value\": ", line->kind);
    if (line->has_number) {
      json_print_number(stdout, line->number);
    } else {
      json_print_string(stdout, line->text, strlen(line->text));
    }
    puts("}");
    return;
  }
  char when[32] = "?";
  time_t seconds = (time_t)line->wall_time;
  struct tm broken;
  if (fabs(line->wall_time) < 1e12 && gmtime_r(&seconds, &broken)) {
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &broken);
  }
  printf("%8lld  %s.%03d  %-24.*s ", (long long)line->step, when,
         (int)((line->wall_time - floor(line->wall_time)) * 1000), (int)line->tag_size, line->tag);
  if (line->has_number) {
    printf("%.7g\n", line->number);
  } else {
    printf("%s: %s\n", line->kind, line->text);
  }
}

// ---- Values -------------------------------------------------------------------------------------

static void describe_histogram(leat_message_view_t h, line_t* line) {
  line->kind = "histogram";
  double count = leat_message_real(h, "num", 0);
  snprintf(line->text, sizeof line->text, "%.0f values from %g to %g, mean %g", count,
           leat_message_real(h, "min", 0), leat_message_real(h, "max", 0),
           count ? leat_message_real(h, "sum", 0) / count : 0);
}

// Finds the only element of a scalar tensor, in whichever field the message has it. |type| may be
// NULL.
static bool scalar_of(leat_message_view_t tensor, const element_type_t* type, double* out_value) {
  static const char* const kFields[] = {"float_val", "double_val", "int_val", "int64_val",
                                        "bool_val", "uint32_val", "uint64_val"};
  size_t size;
  const char* content = leat_message_string(tensor, "tensor_content", 0, &size);
  if (type && type->kind != 's' && size == (size_t)type->size) {
    *out_value = element_real(type, content);
    return true;
  }
  for (size_t i = 0; i < sizeof kFields / sizeof *kFields; ++i) {
    if (leat_message_count(tensor, kFields[i]) != 1) continue;
    *out_value = leat_message_real(tensor, kFields[i], 0);
    return true;
  }
  return false;
}

static void describe_tensor(leat_message_view_t tensor, line_t* line) {
  TF_DataType dtype = (TF_DataType)leat_message_integer(tensor, "dtype", 0);
  leat_message_view_t shape = leat_message_child(tensor, "tensor_shape", 0);
  size_t rank = leat_message_count(shape, "dim");
  line->kind = "tensor";
  if (rank == 0) line->has_number = scalar_of(tensor, element_type_of(dtype), &line->number);
  int used = snprintf(line->text, sizeof line->text, "%s [", element_type_name(dtype));
  for (size_t i = 0; i < rank && used < 100; ++i) {
    long long size = leat_message_integer(leat_message_child(shape, "dim", i), "size", 0);
    used += snprintf(line->text + used, sizeof line->text - (size_t)used, "%s%lld",
                     i ? ", " : "", size);
  }
  snprintf(line->text + used, sizeof line->text - (size_t)used, "]");
}

// Describes a value by the field of its oneof that is set.
static void describe_value(leat_message_view_t value, line_t* line) {
  line->tag = leat_message_string(value, "tag", 0, &line->tag_size);
  line->has_number = leat_message_count(value, "simple_value") == 1;
  line->kind = "scalar";
  line->number = leat_message_real(value, "simple_value", 0);
  line->text[0] = 0;
  leat_message_view_t image = leat_message_child(value, "image", 0);
  leat_message_view_t audio = leat_message_child(value, "audio", 0);
  leat_message_view_t histogram = leat_message_child(value, "histo", 0);
  leat_message_view_t tensor = leat_message_child(value, "tensor", 0);
  if (histogram.data) describe_histogram(histogram, line);
  if (tensor.data) describe_tensor(tensor, line);
  if (image.data) {
    line->kind = "image";
    snprintf(line->text, sizeof line->text, "%lld x %lld",
             (long long)leat_message_integer(image, "width", 0),
             (long long)leat_message_integer(image, "height", 0));
  } else if (audio.data) {
    line->kind = "audio";
    snprintf(line->text, sizeof line->text, "%lld frames at %g Hz",
             (long long)leat_message_integer(audio, "length_frames", 0),
             leat_message_real(audio, "sample_rate", 0));
  } else if (!line->has_number && !line->text[0]) {
    line->kind = "empty";
  }
}

// ---- Events -------------------------------------------------------------------------------------

// Describes an event that is not a summary, by the field that is set.
static void describe_other(leat_message_view_t event, line_t* line) {
  static const char* const kFields[] = {"file_version", "graph_def", "log_message",
                                        "session_log", "tagged_run_metadata", "meta_graph_def"};
  line->kind = "event";
  for (size_t i = 0; i < sizeof kFields / sizeof *kFields; ++i) {
    if (!leat_message_count(event, kFields[i])) continue;
    size_t size;
    const char* bytes = leat_message_string(event, kFields[i], 0, &size);
    line->kind = kFields[i];
    if (i == 0) {
      snprintf(line->text, sizeof line->text, "%.*s", (int)(size < 100 ? size : 100), bytes);
    } else if (size) {
      snprintf(line->text, sizeof line->text, "%zu bytes", size);
    }
  }
}

static void print_event(leat_message_view_t event, bool as_json) {
  line_t line = {.step = leat_message_integer(event, "step", 0),
                 .wall_time = leat_message_real(event, "wall_time", 0),
                 .tag = "-", .tag_size = 1};
  leat_message_view_t summary = leat_message_child(event, "summary", 0);
  if (!summary.data) {
    describe_other(event, &line);
    print_line(&line, as_json);
    return;
  }
  for (size_t i = 0; i < leat_message_count(summary, "value"); ++i) {
    describe_value(leat_message_child(summary, "value", i), &line);
    print_line(&line, as_json);
  }
}

// Prints events until the end, which is OUT_OF_RANGE, or the first record that is no Event.
static void print_events(leat_records_t* records, bool as_json, TF_Status* status) {
  size_t size;
  const void* data;
  while ((data = leat_records_next(records, &size, status)) && TF_GetCode(status) == TF_OK) {
    TF_Buffer bytes = {data, size, NULL};
    leat_message_t* message = leat_message_open("Event", &bytes, status);
    if (!message) return;
    print_event(leat_message_view(message), as_json);
    leat_message_close(message);
  }
  if (TF_GetCode(status) == TF_OUT_OF_RANGE) TF_SetStatus(status, TF_OK, "");  // the end
}

int inspect_events(const inspection_t* inspection) {
  TF_Status* status = TF_NewStatus();
  leat_records_t* records = leat_records_open(inspection->path, status);
  if (records) print_events(records, inspection->json, status);
  int code = EXIT_OK;
  if (TF_GetCode(status) != TF_OK) code = complain("%s", TF_Message(status));
  leat_records_close(records);
  TF_DeleteStatus(status);
  return code;
}
