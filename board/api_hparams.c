// Hyper-parameters: /data/leat/hparams, a table of the runs that wrote some.
//
//   {"sessions": [{"run": "a", "group": "", "status": 1, "start": seconds,
//                  "hparams": {"rate": 0.1, "optimizer": "adam"}, "metrics": {"loss": 0.5}}, ...]}
//
// A run's hyper-parameters are the metadata of a tag without a value of its own; there is no need
// of a descriptor for these three messages, of which few fields are read. The metrics of a run are
// the newest values of its scalars and of those of the runs below it ("a/eval" writes the metric
// "eval/loss"). The status is that of TensorBoard: 0 is not known, 1 success, 2 failure, 3 running.
#include "board/api.h"
#include "board/json_writer.h"
#include "formats/wire/wire.h"

#define START LEAT_SV("_hparams_/session_start_info")
#define END LEAT_SV("_hparams_/session_end_info")
// Fields of the plugin's data, of a session's start and end, of a map's entry, of a value.
enum { DATA_START = 3, DATA_END = 4, START_HPARAM = 1, START_GROUP = 4, START_TIME = 5 };
enum { END_STATUS = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2, NUMBER = 2, TEXT = 3, BOOL = 4 };

typedef struct field_s {
  uint32_t number, type;
  leat_string_view_t bytes;  // of texts and messages
  uint64_t word;             // of numbers
} field_t;

// Takes the next field off |inout_rest|; false at the end and where the bytes break a rule.
static bool take_field(leat_string_view_t* inout_rest, field_t* out_field) {
  const uint8_t* next = (const uint8_t*)inout_rest->data;
  const uint8_t* end = next + inout_rest->size;
  *out_field = (field_t){0};
  if (!inout_rest->size) return false;
  next = leat_wire_read_tag(next, end, &out_field->number, &out_field->type);
  if (!next) return false;
  if (out_field->type == LEAT_WIRE_LENGTH) {
    next = leat_wire_read_bytes(next, end, &out_field->bytes);
  } else if (out_field->type == LEAT_WIRE_VARINT) {
    next = leat_wire_read_varint(next, end, &out_field->word);
  } else {
    if (out_field->type == LEAT_WIRE_FIXED64 && end - next >= 8) {
      out_field->word = leat_wire_load64(next);
    }
    next = leat_wire_skip(next, end, out_field->number, out_field->type);
  }
  if (!next) return false;
  *inout_rest = leat_string_view_make((const char*)next, (size_t)(end - next));
  return true;
}

static double to_double(uint64_t word) {
  double number;
  memcpy(&number, &word, sizeof number);
  return number;
}

// The last field |number| of |bytes| that is a message or a text; empty where there is none.
static leat_string_view_t message_of(leat_string_view_t bytes, uint32_t number) {
  leat_string_view_t found = leat_string_view_make("", 0);
  field_t field;
  while (take_field(&bytes, &field)) {
    if (field.number == number && field.type == LEAT_WIRE_LENGTH) found = field.bytes;
  }
  return found;
}

static void print_value(leat_string_view_t bytes, leat_string_builder_t* out) {
  field_t field, last = {0};
  while (take_field(&bytes, &field)) last = field;
  if (last.number == NUMBER && last.type == LEAT_WIRE_FIXED64) {
    board_json_float(out, to_double(last.word));
  } else if (last.number == TEXT && last.type == LEAT_WIRE_LENGTH) {
    board_json_string(out, last.bytes);
  } else if (last.number == BOOL && last.type == LEAT_WIRE_VARINT) {
    board_json_number(out, BOARD_NUMBER_BOOL, (double)last.word);
  } else {
    leat_string_builder_append(out, LEAT_SV("null"));
  }
}

static void print_start(leat_string_view_t start, leat_string_builder_t* out) {
  leat_string_view_t rest = start;
  double time = 0;
  bool follows = false;
  field_t field;
  leat_string_builder_append(out, LEAT_SV(",\"group\":"));
  board_json_string(out, message_of(start, START_GROUP));
  leat_string_builder_append(out, LEAT_SV(",\"hparams\":{"));
  while (take_field(&rest, &field)) {
    if (field.number == START_TIME && field.type == LEAT_WIRE_FIXED64) time = to_double(field.word);
    if (field.number != START_HPARAM || field.type != LEAT_WIRE_LENGTH) continue;
    if (follows) leat_string_builder_append_char(out, ',');
    follows = true;
    board_json_string(out, message_of(field.bytes, ENTRY_KEY));
    leat_string_builder_append_char(out, ':');
    print_value(message_of(field.bytes, ENTRY_VALUE), out);
  }
  leat_string_builder_append(out, LEAT_SV("},\"start\":"));
  board_json_float(out, time);
}

static uint64_t status_of(const board_run_t* run) {
  const board_series_t* series = board_run_find(run, END);
  field_t field;
  if (!series || strcmp(series->plugin, "hparams")) return 0;
  leat_string_view_t end = message_of(series->content, DATA_END);
  uint64_t status = 0;
  while (take_field(&end, &field)) {
    if (field.number == END_STATUS && field.type == LEAT_WIRE_VARINT) status = field.word;
  }
  return status;
}

// Prints the newest values of the scalars of |run|, whose name within the session is |prefix|.
static void print_metrics(board_run_t* run, leat_string_view_t prefix, bool* inout_follows,
                          leat_string_builder_t* out) {
  leat_string_builder_t name;
  leat_string_builder_initialize(leat_allocator_system(), &name);
  leat_mutex_lock(&run->lock);
  for (size_t i = 0; i < run->series_count; ++i) {
    const board_series_t* series = run->series[i];
    if (series->form != BOARD_FORM_SCALAR || strcmp(series->plugin, "scalars") || !series->count) {
      continue;
    }
    name.size = 0;
    leat_string_builder_append(&name, prefix);
    if (prefix.size) leat_string_builder_append_char(&name, '/');
    leat_string_builder_append(&name, leat_string_view_make(series->tag, series->tag_size));
    if (*inout_follows) leat_string_builder_append_char(out, ',');
    *inout_follows = true;
    board_json_string(out, leat_string_builder_view(&name));
    leat_string_builder_append_char(out, ':');
    board_json_float(out, series->values[series->count - 1]);
  }
  leat_mutex_unlock(&run->lock);
  leat_string_builder_deinitialize(&name);
}

// Whether |run| lies below |session|, and its name from there.
static bool is_below(const board_run_t* run, const board_run_t* session,
                     leat_string_view_t* out_rest) {
  leat_string_view_t name = leat_string_view_from(run->name);
  leat_string_view_t above = leat_string_view_from(session->name);
  if (!leat_string_view_starts_with(name, above) || name.size <= above.size + 1 ||
      name.data[above.size] != '/') {
    return false;
  }
  *out_rest = leat_string_view_from_index(name, above.size + 1);
  return true;
}

// Prints the session of |run|; false where it wrote none.
static bool print_session(board_run_t* run, board_run_t** runs, size_t count, bool is_first,
                          leat_string_builder_t* out) {
  leat_string_view_t rest;
  bool follows = false;
  leat_mutex_lock(&run->lock);
  const board_series_t* series = board_run_find(run, START);
  bool is_session = series && !strcmp(series->plugin, "hparams");
  if (is_session) {
    if (!is_first) leat_string_builder_append_char(out, ',');
    leat_string_builder_append(out, LEAT_SV("{\"run\":"));
    board_json_string(out, leat_string_view_from(run->name));
    print_start(message_of(series->content, DATA_START), out);
    leat_string_builder_print(out, ",\"status\":%llu,\"metrics\":{",
                              (unsigned long long)status_of(run));
  }
  leat_mutex_unlock(&run->lock);
  if (!is_session) return false;
  print_metrics(run, leat_string_view_make("", 0), &follows, out);
  for (size_t i = 0; i < count; ++i) {
    if (is_below(runs[i], run, &rest)) print_metrics(runs[i], rest, &follows, out);
  }
  leat_string_builder_append(out, LEAT_SV("}}"));
  return true;
}

leat_status_t board_api_hparams(board_api_t* api, const board_request_t* request,
                                board_response_t* response) {
  board_run_t** runs;
  size_t count;
  bool any = false;
  (void)request;
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  leat_string_builder_append(&response->body, LEAT_SV("{\"sessions\":["));
  for (size_t i = 0; i < count; ++i) {
    any |= print_session(runs[i], runs, count, !any, &response->body);
  }
  leat_string_builder_append(&response->body, LEAT_SV("]}"));
  leat_allocator_free(leat_allocator_system(), runs);
  return leat_ok_status();
}
