// Requests for groups of sessions come as JSON of a protocol buffer: names of fields in lower camel
// case or as they are, enums by name or number, numbers as numbers or as texts. A name that is not
// known is an error, as it is for TensorBoard.
#include <math.h>

#include "board/session_groups.h"

#define COLUMN_LIMIT 1000

static leat_status_t invalid(const board_json_t* field, const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Reading a request failed: %.*s must be %s",
                          LEAT_SV_ARG(field->key), rule);
}

// Whether the key of |field| is |name|, which is in lower camel case, or the same with underscores.
static bool is_named(const board_json_t* field, const char* name) {
  leat_string_view_t key = field->key;
  size_t at = 0;
  for (; *name; ++name, ++at) {
    bool is_upper = *name >= 'A' && *name <= 'Z';
    if (at < key.size && key.data[at] == *name) continue;
    if (!is_upper || at + 1 >= key.size || key.data[at] != '_' ||
        key.data[at + 1] != *name - 'A' + 'a') {
      return false;
    }
    ++at;
  }
  return at == key.size;
}

static leat_status_t read_double(const board_json_t* field, double* out_number) {
  if (field->kind == BOARD_JSON_NULL) return leat_ok_status();
  *out_number = field->number;
  if (field->kind == BOARD_JSON_NUMBER) return leat_ok_status();
  if (field->kind != BOARD_JSON_TEXT) return invalid(field, "a number");
  if (leat_string_view_equals(field->text, "Infinity")) {
    *out_number = INFINITY;
  } else if (leat_string_view_equals(field->text, "-Infinity")) {
    *out_number = -INFINITY;
  } else if (!leat_string_view_to_double(field->text, out_number)) {
    return invalid(field, "a number");
  }
  return leat_ok_status();
}

static leat_status_t read_int(const board_json_t* field, int64_t* out_number) {
  double number = 0;
  LEAT_RETURN_IF_ERROR(read_double(field, &number));
  if (!(fabs(number) <= INT32_MAX) || number != floor(number)) {
    return invalid(field, "a whole number of 32 bits");
  }
  *out_number = (int64_t)number;
  return leat_ok_status();
}

static leat_status_t read_bool(const board_json_t* field, bool* out_truth) {
  *out_truth = field->truth;
  bool fits = field->kind == BOARD_JSON_BOOL || field->kind == BOARD_JSON_NULL;
  return fits ? leat_ok_status() : invalid(field, "true or false");
}

static leat_status_t read_text(const board_json_t* field, leat_string_view_t* out_text) {
  *out_text = field->text;
  bool fits = field->kind == BOARD_JSON_TEXT || field->kind == BOARD_JSON_NULL;
  return fits ? leat_ok_status() : invalid(field, "a text");
}

// Reads one of |names|, which end with NULL, or its index.
static leat_status_t read_enum(const board_json_t* field, const char* const* names,
                               int64_t* out_value) {
  *out_value = 0;
  for (int i = 0; names[i] && field->kind == BOARD_JSON_TEXT; ++i) {
    if (!leat_string_view_equals(field->text, names[i])) continue;
    *out_value = i;
    return leat_ok_status();
  }
  if (field->kind == BOARD_JSON_TEXT) return invalid(field, "one of the names of its enum");
  return read_int(field, out_value);
}

static leat_status_t read_metric_name(const board_json_t* object, board_metric_name_t* out_name) {
  if (object->kind != BOARD_JSON_OBJECT) return invalid(object, "an object");
  for (const board_json_t* field = object->first; field; field = field->next) {
    if (is_named(field, "group")) {
      LEAT_RETURN_IF_ERROR(read_text(field, &out_name->group));
    } else if (is_named(field, "tag")) {
      LEAT_RETURN_IF_ERROR(read_text(field, &out_name->tag));
    } else {
      return invalid(field, "absent");
    }
  }
  return leat_ok_status();
}

static leat_status_t read_interval(const board_json_t* object, board_column_t* column) {
  if (object->kind != BOARD_JSON_OBJECT) return invalid(object, "an object");
  column->has_interval = true;
  for (const board_json_t* field = object->first; field; field = field->next) {
    if (is_named(field, "minValue")) {
      LEAT_RETURN_IF_ERROR(read_double(field, &column->low));
    } else if (is_named(field, "maxValue")) {
      LEAT_RETURN_IF_ERROR(read_double(field, &column->high));
    } else {
      return invalid(field, "absent");
    }
  }
  return leat_ok_status();
}

static leat_status_t read_column_field(const board_json_t* field, board_column_t* column,
                                       bool* has_name) {
  static const char* const orders[] = {"ORDER_UNSPECIFIED", "ORDER_ASC", "ORDER_DESC", NULL};
  int64_t order = column->order;
  if (is_named(field, "metric")) {
    *has_name = column->is_metric = true;
    return read_metric_name(field, &column->metric);
  }
  if (is_named(field, "hparam")) {
    *has_name = true;
    return read_text(field, &column->hparam);
  }
  if (is_named(field, "order")) {
    LEAT_RETURN_IF_ERROR(read_enum(field, orders, &order));
    column->order = (int)order;
    return leat_ok_status();
  }
  if (is_named(field, "filterRegexp")) {
    column->has_pattern = true;
    return read_text(field, &column->pattern);
  }
  if (is_named(field, "filterDiscrete")) {
    column->choices = field;
    return field->kind == BOARD_JSON_LIST ? leat_ok_status() : invalid(field, "a list");
  }
  if (is_named(field, "includeInResult")) {
    column->says_include = true;
    return read_bool(field, &column->include);
  }
  if (is_named(field, "filterInterval")) return read_interval(field, column);
  if (is_named(field, "missingValuesFirst")) return read_bool(field, &column->missing_first);
  if (is_named(field, "excludeMissingValues")) return read_bool(field, &column->exclude_missing);
  return invalid(field, "absent");
}

static leat_status_t read_columns(const board_json_t* list, leat_arena_t* arena,
                                  board_groups_request_t* request) {
  size_t count = 0;
  if (list->kind != BOARD_JSON_LIST) return invalid(list, "a list");
  for (const board_json_t* item = list->first; item; item = item->next) ++count;
  if (count > COLUMN_LIMIT) return invalid(list, "of at most 1,000 items");
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &request->columns));
  request->column_count = count;
  board_column_t* column = request->columns;
  for (const board_json_t* item = list->first; item; item = item->next, ++column) {
    bool has_name = false;
    if (item->kind != BOARD_JSON_OBJECT) return invalid(list, "a list of objects");
    for (const board_json_t* field = item->first; field; field = field->next) {
      LEAT_RETURN_IF_ERROR(read_column_field(field, column, &has_name));
    }
    bool acts = column->order || column->has_pattern || column->has_interval || column->choices ||
                column->exclude_missing;
    if (acts && !has_name) return invalid(list, "of objects with a metric or an hparam");
  }
  return leat_ok_status();
}

static leat_status_t read_statuses(const board_json_t* list, uint32_t* out_statuses) {
  static const char* const names[] = {"STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE",
                                      "STATUS_RUNNING", NULL};
  if (list->kind != BOARD_JSON_LIST) return invalid(list, "a list");
  for (const board_json_t* item = list->first; item; item = item->next) {
    int64_t value;
    LEAT_RETURN_IF_ERROR(read_enum(item, names, &value));
    if (value >= 0 && value < 32) *out_statuses |= 1u << value;
  }
  return leat_ok_status();
}

static leat_status_t read_field(const board_json_t* field, leat_arena_t* arena,
                                board_groups_request_t* request) {
  static const char* const aggregations[] = {"AGGREGATION_UNSET", "AGGREGATION_AVG",
                                             "AGGREGATION_MEDIAN", "AGGREGATION_MIN",
                                             "AGGREGATION_MAX", NULL};
  if (is_named(field, "experimentName")) {
    leat_string_view_t name;
    return read_text(field, &name);  // there is only one
  }
  if (is_named(field, "allowedStatuses")) return read_statuses(field, &request->statuses);
  if (is_named(field, "colParams")) return read_columns(field, arena, request);
  if (is_named(field, "aggregationMetric")) {
    return read_metric_name(field, &request->aggregation_metric);
  }
  if (is_named(field, "startIndex")) return read_int(field, &request->start);
  if (is_named(field, "sliceSize")) return read_int(field, &request->size);
  if (is_named(field, "includeMetrics")) {
    bool includes = true;
    LEAT_RETURN_IF_ERROR(read_bool(field, &includes));
    request->leaves_metrics_out = !includes;
    return leat_ok_status();
  }
  if (is_named(field, "aggregationType")) {
    int64_t type;
    LEAT_RETURN_IF_ERROR(read_enum(field, aggregations, &type));
    if (type < 0 || type > BOARD_AGGREGATION_MAX) return invalid(field, "an aggregation");
    request->aggregation = (board_aggregation_t)type;
    return leat_ok_status();
  }
  return invalid(field, "absent");
}

leat_status_t board_groups_request_read(leat_string_view_t json, leat_arena_t* arena,
                                        board_groups_request_t* out_request) {
  board_json_t object;
  *out_request = (board_groups_request_t){0};
  LEAT_RETURN_IF_ERROR(board_json_read(json, arena, &object));
  if (object.kind != BOARD_JSON_OBJECT) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "a request must be an object");
  }
  for (const board_json_t* field = object.first; field; field = field->next) {
    LEAT_RETURN_IF_ERROR(read_field(field, arena, out_request));
  }
  return leat_ok_status();
}
