// The kernel of SqlDataset: the rows of a query of an SQLite database (formats/database/sqlite.h),
// a scalar for each column.
//
//     database ──query──▶ row ──SQLite's conversions──▶ element
//
// An iterator opens the database when it is first asked for an element, and closes it with the last
// row, or when it ends itself. It keeps no row and no lock between elements but what SQLite itself
// keeps while a query is under way. The database is only read: a query that would change it fails
// (FAILED_PRECONDITION), and one that is not there is not made (INVALID_ARGUMENT), where TensorFlow
// does both.
//
// A query can work for long before it gives a row, or for ever. SQLite therefore asks the pull from
// time to time whether its step is to end. Nothing was said of the element then: the next pull
// executes the query again and passes over the rows that were given. A query that fails by itself
// has no rows behind the failure, as in TensorFlow, while one that cannot be begun fails every
// time.
#include "formats/database/sqlite.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

// The tensors of the dataset, as the inputs of the op.
enum { DRIVER, DATABASE, QUERY, TENSORS };

typedef struct sql_iterator_s {
  leat_iterator_t base;
  leat_sqlite_t* database;
  leat_sqlite_statement_t* query;
  int64_t given;   // rows that became elements
  int64_t passed;  // rows of this execution of the query, given or passed over
  bool has_failed;
  leat_pull_t* pull;       // the one that executes the query now
  leat_status_t stopping;  // why |pull| has to end; OK: it need not
} sql_iterator_t;

static void close_query(sql_iterator_t* it) {
  leat_sqlite_statement_free(it->query);
  leat_sqlite_close(it->database);
  it->query = NULL;
  it->database = NULL;
  it->passed = 0;
}

static void sql_stop(leat_iterator_t* self) { close_query((sql_iterator_t*)self); }

// What SQLite asks while it works.
static int must_stop(void* data) {
  sql_iterator_t* it = data;
  if (!it->stopping) it->stopping = leat_pull_check(it->pull);
  return it->stopping != leat_ok_status();
}

static leat_status_t open_query(sql_iterator_t* it) {
  const leat_dataset_t* dataset = it->base.dataset;
  LEAT_RETURN_IF_ERROR(leat_sqlite_open(leat_tensor_string_at(&dataset->tensors[DATABASE], 0),
                                        false, &it->database));
  leat_sqlite_set_check(it->database, must_stop, it);
  LEAT_RETURN_IF_ERROR(leat_sqlite_prepare(
      it->database, leat_tensor_string_at(&dataset->tensors[QUERY], 0), &it->query));
  const int columns = leat_sqlite_column_count(it->query);
  if (columns == dataset->spec->count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "The number of columns in query (%d) must match the number of elements "
                          "in output_types (%d).",
                          columns, dataset->spec->count);
}

// Goes to the first row that was not given yet, or to the end of the rows.
static leat_status_t find_row(sql_iterator_t* it, bool* out_is_row) {
  do {
    LEAT_RETURN_IF_ERROR(leat_sqlite_step(it->query, out_is_row));
  } while (*out_is_row && it->passed++ < it->given);
  return leat_ok_status();
}

// Ends the query and says why: the pull has to end, or |status|, which is consumed.
static leat_status_t end_query(sql_iterator_t* it, leat_status_t status) {
  leat_status_t stopping = it->stopping;
  it->stopping = leat_ok_status();
  close_query(it);
  if (!stopping) return status;
  leat_status_free(status);
  return stopping;
}

// Integers wrap to their type, as in TensorFlow.
static leat_status_t read_column(const sql_iterator_t* it, int column, leat_tensor_t* out) {
  const int dtype = it->base.dataset->spec->types[column];
  if (dtype == LEAT_DTYPE_STRING) {
    leat_string_view_t bytes;
    LEAT_RETURN_IF_ERROR(leat_sqlite_bytes(it->query, column, &bytes));
    return leat_tensor_scalar_string(bytes, out);
  }
  if (dtype == LEAT_DTYPE_DOUBLE) {
    const double real = leat_sqlite_real(it->query, column);
    return leat_tensor_scalar(dtype, &real, out);
  }
  int64_t integer = leat_sqlite_integer(it->query, column);
  if (dtype == LEAT_DTYPE_BOOL) integer = integer != 0;
  return leat_tensor_scalar(dtype, &integer, out);
}

static leat_status_t read_row(const sql_iterator_t* it, leat_tensor_t* out) {
  for (int i = 0; i < it->base.dataset->spec->count; ++i) {
    leat_status_t status = read_column(it, i, &out[i]);
    if (status) {
      leat_element_release(out, i);
      return status;
    }
  }
  return leat_ok_status();
}

static leat_status_t sql_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                              leat_poll_t* out_poll) {
  sql_iterator_t* it = (sql_iterator_t*)self;
  bool is_row;
  if (it->has_failed) return leat_ok_status();
  it->pull = pull;
  leat_status_t status = it->query ? leat_ok_status() : open_query(it);
  if (!status) {
    status = find_row(it, &is_row);
    it->has_failed = status && !it->stopping;
  }
  if (status || !is_row) return end_query(it, status);
  ++it->given;
  *out_poll = LEAT_POLL_ELEMENT;
  return read_row(it, out);
}

static const leat_dataset_kind_t kSql = {.name = "Sql",
                                         .dataset_bytes = sizeof(leat_dataset_t),
                                         .iterator_bytes = sizeof(sql_iterator_t),
                                         .next = sql_next,
                                         .stop = sql_stop,
                                         .cardinality = leat_dataset_unknown_cardinality};

// ---- The kernel ---------------------------------------------------------------------------------

#define COLUMN_TYPES                                                                              \
  (LEAT_DTYPE_BIT(STRING) | LEAT_DTYPE_BIT(INT8) | LEAT_DTYPE_BIT(INT16) | LEAT_DTYPE_BIT(INT32) | \
   LEAT_DTYPE_BIT(INT64) | LEAT_DTYPE_BIT(UINT8) | LEAT_DTYPE_BIT(UINT16) | LEAT_DTYPE_BIT(BOOL) | \
   LEAT_DTYPE_BIT(DOUBLE))

static leat_status_t sql_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(leat_element_spec_state_create(c, state));
  const leat_element_spec_t* spec = ((const leat_element_spec_state_t*)state)->spec;
  for (int i = 0; i < spec->count; ++i) {
    if (!leat_dtype_in(spec->types[i], COLUMN_TYPES)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Each element of `output_types_` must be one of: string, int8, "
                              "int16, int32, int64, uint8, uint16, bool, double; element %d is %s",
                              i, leat_dtype_name(spec->types[i]));
    }
    if (spec->shapes[i].rank != 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Each element of `output_shapes_` must be a scalar; element %d is "
                              "not",
                              i);
    }
  }
  return leat_ok_status();
}

static leat_status_t sql__cpu(leat_kernel_context_t* c) {
  static const char* const kNames[TENSORS] = {"driver_name", "data_source_name", "query"};
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  leat_string_view_t texts[TENSORS];
  leat_dataset_t* dataset;
  for (int i = 0; i < TENSORS; ++i) {
    LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, i, kNames[i], &texts[i]));
  }
  if (!leat_string_view_equals(texts[DRIVER], "sqlite")) {
    return leat_kernel_invalid(c,
                               "The database type, %.*s, is not supported by SqlDataset. The set "
                               "of supported databases is: {'sqlite'}.",
                               LEAT_SV_ARG(texts[DRIVER]));
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kSql, leat_element_spec_retain(state->spec), 0, TENSORS,
                                           &dataset));
  leat_status_t status = leat_dataset_keep_inputs(c, 0, 0, TENSORS, dataset);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

#define KERNEL(name)                                                                         \
  LEAT_CPU_KERNEL(name, NULL, leat_element_spec_state_t, sql_create, sql__cpu,               \
                  .destroy = leat_element_spec_state_destroy)

const leat_kernel_row_t leat_sql_dataset_kernels_cpu[] = {
    KERNEL("SqlDataset"),
    KERNEL("ExperimentalSqlDataset"),
    LEAT_KERNEL_ROWS_END,
};
