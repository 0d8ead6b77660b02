// The SQLite module's table of functions. Databases may come from strangers, as may the statements
// that read them: a schema that calls functions with side effects is not obeyed (its views and
// triggers are not trusted), no statement can change the database's pages by hand, and nothing
// loads code. A statement can work for long before it gives a row, so that SQLite asks a function
// of the caller's every few thousand of its machine's instructions whether to go on.
//
// SQLite's codes become those that TensorFlow gives for them: a database that cannot be opened is
// INVALID_ARGUMENT, one that is locked UNAVAILABLE, an error in a statement UNKNOWN.
#include <limits.h>
#include <sqlite3.h>

#include "formats/database/sqlite_module.h"

// Instructions of SQLite's machine between two checks: some tenths of a millisecond.
enum { CHECK_INTERVAL = 10000 };

static const struct {
  int sqlite, status;
} kCodes[] = {
    {SQLITE_OK, LEAT_OK},
    {SQLITE_ROW, LEAT_OK},
    {SQLITE_DONE, LEAT_OK},
    {SQLITE_INTERRUPT, LEAT_CANCELLED},
    {SQLITE_CANTOPEN, LEAT_INVALID_ARGUMENT},
    {SQLITE_NOTADB, LEAT_INVALID_ARGUMENT},
    {SQLITE_CONSTRAINT, LEAT_INVALID_ARGUMENT},
    {SQLITE_NOTFOUND, LEAT_INVALID_ARGUMENT},
    {SQLITE_AUTH, LEAT_PERMISSION_DENIED},
    {SQLITE_PERM, LEAT_PERMISSION_DENIED},
    {SQLITE_FULL, LEAT_RESOURCE_EXHAUSTED},
    {SQLITE_TOOBIG, LEAT_RESOURCE_EXHAUSTED},
    {SQLITE_NOLFS, LEAT_RESOURCE_EXHAUSTED},
    {SQLITE_READONLY, LEAT_FAILED_PRECONDITION},
    {SQLITE_MISMATCH, LEAT_FAILED_PRECONDITION},
    {SQLITE_ABORT, LEAT_ABORTED},
    {SQLITE_RANGE, LEAT_OUT_OF_RANGE},
    {SQLITE_MISUSE, LEAT_INTERNAL},
    {SQLITE_INTERNAL, LEAT_INTERNAL},
    {SQLITE_BUSY, LEAT_UNAVAILABLE},
    {SQLITE_LOCKED, LEAT_UNAVAILABLE},
    {SQLITE_PROTOCOL, LEAT_UNAVAILABLE},
    {SQLITE_NOMEM, LEAT_UNAVAILABLE},
    {SQLITE_CORRUPT, LEAT_DATA_LOSS},
};

// The low byte of an extended code is the code.
static int code_of(int result) {
  for (size_t i = 0; i < sizeof kCodes / sizeof *kCodes; ++i) {
    if (kCodes[i].sqlite == (result & 0xff)) return kCodes[i].status;
  }
  return LEAT_UNKNOWN;
}

static int open(const char* path, bool is_writable, sqlite3** out_database) {
  const int access =
      is_writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int result = sqlite3_open_v2(
      path, out_database,
      access | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
  if (result != SQLITE_OK) return code_of(result);
  sqlite3_db_config(*out_database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(*out_database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  return LEAT_OK;
}

static void close(sqlite3* database) { sqlite3_close_v2(database); }

static void set_check(sqlite3* database, int (*check)(void* data), void* data) {
  sqlite3_progress_handler(database, CHECK_INTERVAL, check, data);
}

static int prepare(sqlite3* database, const char* text, size_t size,
                   sqlite3_stmt** out_statement) {
  *out_statement = NULL;
  if (size > INT_MAX) return code_of(SQLITE_TOOBIG);
  return code_of(sqlite3_prepare_v2(database, text, (int)size, out_statement, NULL));
}

static void end(sqlite3_stmt* statement) { sqlite3_finalize(statement); }

static int bind_integer(sqlite3_stmt* statement, int index, int64_t value) {
  return code_of(sqlite3_bind_int64(statement, index, value));
}

static int bind_real(sqlite3_stmt* statement, int index, double value) {
  return code_of(sqlite3_bind_double(statement, index, value));
}

static int bind_text(sqlite3_stmt* statement, int index, const char* bytes, size_t size) {
  return code_of(
      sqlite3_bind_text64(statement, index, bytes, size, SQLITE_STATIC, SQLITE_UTF8));
}

static int bind_blob(sqlite3_stmt* statement, int index, const char* bytes, size_t size) {
  return code_of(sqlite3_bind_blob64(statement, index, bytes, size, SQLITE_STATIC));
}

static int step(sqlite3_stmt* statement, bool* out_is_row) {
  const int result = sqlite3_step(statement);
  *out_is_row = result == SQLITE_ROW;
  return code_of(result);
}

static void reset(sqlite3_stmt* statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

static int64_t integer(sqlite3_stmt* statement, int column) {
  return sqlite3_column_int64(statement, column);
}

// A number is written out as text first, for which memory may be wanting. SQLite's NULL pointer
// says that, and stands for no bytes as well.
static int bytes(sqlite3_stmt* statement, int column, const char** out_bytes, size_t* out_size) {
  *out_bytes = sqlite3_column_blob(statement, column);
  *out_size = (size_t)sqlite3_column_bytes(statement, column);
  if (*out_bytes || sqlite3_errcode(sqlite3_db_handle(statement)) != SQLITE_NOMEM) return LEAT_OK;
  return code_of(SQLITE_NOMEM);
}

__attribute__((visibility("default"))) const leat_sqlite_module_t* leat_module_sqlite(void) {
  static const leat_sqlite_module_t kModule = {
      .struct_size = sizeof(leat_sqlite_module_t),
      .version = SQLITE_VERSION,
      .open = open,
      .close = close,
      .message = sqlite3_errmsg,
      .set_check = set_check,
      .prepare = prepare,
      .end = end,
      .bind_integer = bind_integer,
      .bind_real = bind_real,
      .bind_text = bind_text,
      .bind_blob = bind_blob,
      .step = step,
      .reset = reset,
      .column_count = sqlite3_column_count,
      .integer = integer,
      .real = sqlite3_column_double,
      .bytes = bytes,
  };
  return &kModule;
}
