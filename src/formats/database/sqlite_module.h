// The interface of leat_module_sqlite.so: what the SQLite library does for us. The functions return
// TensorFlow's codes, and `message` says more of the last failure. Neither a database nor a
// statement may be used by two threads at once.
#ifndef LEAT_FORMATS_DATABASE_SQLITE_MODULE_H_
#define LEAT_FORMATS_DATABASE_SQLITE_MODULE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

typedef struct leat_sqlite_module_s {
  size_t struct_size;
  const char* version;
  // Opens the file, or the URI, |path|. A database that may be written is made where there is none.
  // |*out_database| is to be closed after a failure too.
  int (*open)(const char* path, bool is_writable, struct sqlite3** out_database);
  // Its statements must have been ended. NULL is allowed.
  void (*close)(struct sqlite3* database);
  // Lives until the next call for the database.
  const char* (*message)(struct sqlite3* database);
  // From now on statements ask |check| from time to time, and fail with CANCELLED where it is not
  // 0. NULL: they ask nobody.
  void (*set_check)(struct sqlite3* database, int (*check)(void* data), void* data);
  // |*out_statement| is NULL for a text that holds no statement. Of several the first is taken.
  int (*prepare)(struct sqlite3* database, const char* text, size_t size,
                 struct sqlite3_stmt** out_statement);
  // NULL is allowed, here and for `column_count`.
  void (*end)(struct sqlite3_stmt* statement);
  // Set parameter |index|, which begins at 1, before the first step. |bytes| are borrowed until the
  // statement is reset; NULL stands for SQL's NULL.
  int (*bind_integer)(struct sqlite3_stmt* statement, int index, int64_t value);
  int (*bind_real)(struct sqlite3_stmt* statement, int index, double value);
  int (*bind_text)(struct sqlite3_stmt* statement, int index, const char* bytes, size_t size);
  int (*bind_blob)(struct sqlite3_stmt* statement, int index, const char* bytes, size_t size);
  // Goes to the next row, or to the end. After a failure, or the end, it begins anew.
  int (*step)(struct sqlite3_stmt* statement, bool* out_is_row);
  // Goes back before the first row, and forgets what was bound.
  void (*reset)(struct sqlite3_stmt* statement);
  // The columns of the row, from 0 on. SQLite converts what is of another type. The bytes live
  // until the next step.
  int (*column_count)(struct sqlite3_stmt* statement);
  int64_t (*integer)(struct sqlite3_stmt* statement, int column);
  double (*real)(struct sqlite3_stmt* statement, int column);
  int (*bytes)(struct sqlite3_stmt* statement, int column, const char** out_bytes,
               size_t* out_size);
} leat_sqlite_module_t;

// The module's only exported symbol, `leat_module_sqlite`, has this type.
const leat_sqlite_module_t* leat_module_sqlite(void);

#endif  // LEAT_FORMATS_DATABASE_SQLITE_MODULE_H_
