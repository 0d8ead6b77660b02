// The module's functions as statuses. A statement keeps its text, so that a failure names it, and
// its database, whose message says what is wrong. Where a text holds no statement (it is empty, or
// a comment), SQLite compiles nothing: such a statement has no columns and ends at once.
#include "formats/database/sqlite.h"

#include "base/allocator.h"
#include "base/module.h"
#include "base/string_builder.h"
#include "formats/database/sqlite_module.h"

static leat_module_t sqlite = {
    .name = "sqlite", .struct_size = sizeof(leat_sqlite_module_t), .package = "libsqlite3-0"};

struct leat_sqlite_s {
  const leat_sqlite_module_t* module;
  struct sqlite3* handle;
};

struct leat_sqlite_statement_s {
  leat_sqlite_t* database;
  struct sqlite3_stmt* handle;  // NULL: the text holds no statement
  leat_string_view_t text;      // behind the struct
};

// How much of a statement's text a message shows.
enum { MOST_SHOWN = 200 };

static leat_status_t failure(const leat_sqlite_t* database, int code, const char* verb,
                             leat_string_view_t text) {
  if (code == LEAT_OK) return leat_ok_status();
  return leat_make_status((leat_status_code_t)code, "%s failed: %s: \"%.*s\"%s", verb,
                          database->module->message(database->handle),
                          text.size < MOST_SHOWN ? (int)text.size : MOST_SHOWN,
                          text.data ? text.data : "", text.size > MOST_SHOWN ? "..." : "");
}

// ---- Databases ----------------------------------------------------------------------------------

// Opens |path|, which SQLite wants to end in NUL.
static leat_status_t open(leat_sqlite_t* database, leat_string_view_t path, bool is_writable) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_append(&text, path);
  leat_status_t status = leat_status_clone(text.status);
  if (!status) {
    const int code =
        database->module->open(text.data ? text.data : "", is_writable, &database->handle);
    status = failure(database, code, "Opening a database", path);
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

leat_status_t leat_sqlite_open(leat_string_view_t path, bool is_writable,
                               leat_sqlite_t** out_database) {
  const void* table;
  leat_sqlite_t* database;
  LEAT_RETURN_IF_ERROR(leat_module_load(&sqlite, &table));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &database));
  database->module = table;
  leat_status_t status = open(database, path, is_writable);
  if (status) {
    leat_sqlite_close(database);
    return status;
  }
  *out_database = database;
  return leat_ok_status();
}

void leat_sqlite_close(leat_sqlite_t* database) {
  if (!database) return;
  database->module->close(database->handle);
  leat_allocator_free(leat_allocator_system(), database);
}

void leat_sqlite_set_check(leat_sqlite_t* database, int (*check)(void* data), void* data) {
  database->module->set_check(database->handle, check, data);
}

// ---- Statements ---------------------------------------------------------------------------------

leat_status_t leat_sqlite_prepare(leat_sqlite_t* database, leat_string_view_t text,
                                  leat_sqlite_statement_t** out_statement) {
  leat_sqlite_statement_t* statement;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), sizeof *statement + text.size, (void**)&statement));
  char* copy = (char*)(statement + 1);
  if (text.size) memcpy(copy, text.data, text.size);
  statement->database = database;
  statement->text = leat_string_view_make(copy, text.size);
  const int code =
      database->module->prepare(database->handle, copy, text.size, &statement->handle);
  if (code != LEAT_OK) {
    leat_status_t status = failure(database, code, "Preparing a statement", text);
    leat_sqlite_statement_free(statement);
    return status;
  }
  *out_statement = statement;
  return leat_ok_status();
}

void leat_sqlite_statement_free(leat_sqlite_statement_t* statement) {
  if (!statement) return;
  statement->database->module->end(statement->handle);
  leat_allocator_free(leat_allocator_system(), statement);
}

// No bytes are not SQL's NULL, for which a NULL pointer stands.
static int bind(const leat_sqlite_statement_t* statement, int index,
                const leat_sqlite_value_t* value) {
  const leat_sqlite_module_t* module = statement->database->module;
  const leat_string_view_t bytes = value->bytes;
  switch (value->kind) {
    case LEAT_SQLITE_INTEGER: return module->bind_integer(statement->handle, index, value->integer);
    case LEAT_SQLITE_REAL: return module->bind_real(statement->handle, index, value->real);
    case LEAT_SQLITE_TEXT:
      return module->bind_text(statement->handle, index, bytes.size ? bytes.data : "", bytes.size);
    case LEAT_SQLITE_BLOB:
      return module->bind_blob(statement->handle, index, bytes.size ? bytes.data : "", bytes.size);
    default: return module->bind_blob(statement->handle, index, NULL, 0);
  }
}

leat_status_t leat_sqlite_bind(leat_sqlite_statement_t* statement,
                               const leat_sqlite_value_t* values, int count) {
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(failure(statement->database, bind(statement, i + 1, &values[i]),
                                 "Setting a parameter", statement->text));
  }
  return leat_ok_status();
}

leat_status_t leat_sqlite_step(leat_sqlite_statement_t* statement, bool* out_is_row) {
  *out_is_row = false;
  if (!statement->handle) return leat_ok_status();
  return failure(statement->database,
                 statement->database->module->step(statement->handle, out_is_row),
                 "Executing a statement", statement->text);
}

void leat_sqlite_reset(leat_sqlite_statement_t* statement) {
  if (statement->handle) statement->database->module->reset(statement->handle);
}

// ---- Columns ------------------------------------------------------------------------------------

int leat_sqlite_column_count(const leat_sqlite_statement_t* statement) {
  return statement->database->module->column_count(statement->handle);
}

int64_t leat_sqlite_integer(const leat_sqlite_statement_t* statement, int column) {
  LEAT_DCHECK(column >= 0 && column < leat_sqlite_column_count(statement));
  return statement->database->module->integer(statement->handle, column);
}

double leat_sqlite_real(const leat_sqlite_statement_t* statement, int column) {
  LEAT_DCHECK(column >= 0 && column < leat_sqlite_column_count(statement));
  return statement->database->module->real(statement->handle, column);
}

leat_status_t leat_sqlite_bytes(const leat_sqlite_statement_t* statement, int column,
                                leat_string_view_t* out_bytes) {
  LEAT_DCHECK(column >= 0 && column < leat_sqlite_column_count(statement));
  const char* bytes;
  size_t size;
  const int code = statement->database->module->bytes(statement->handle, column, &bytes, &size);
  *out_bytes = leat_string_view_make(bytes, size);
  return failure(statement->database, code, "Reading a column", statement->text);
}
