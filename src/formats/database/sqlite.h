// Databases of SQLite, through the module sqlite, without which opening one is UNIMPLEMENTED.
//
//   leat_sqlite_t* database;
//   leat_sqlite_statement_t* query;
//   LEAT_RETURN_IF_ERROR(leat_sqlite_open(LEAT_SV("people.db"), false, &database));
//   status = leat_sqlite_prepare(database, LEAT_SV("SELECT age FROM people"), &query);
//   while (!(status = leat_sqlite_step(query, &is_row)) && is_row) {
//     use(leat_sqlite_integer(query, 0));
//   }
//   leat_sqlite_statement_free(query);
//   leat_sqlite_close(database);
//
// Nothing here takes a lock: a database and its statements are used by one thread at a time. Calls
// may block on the disk; a database that another process has locked is UNAVAILABLE at once. The
// codes of failures are TensorFlow's (modules/sqlite/sqlite.c lists them), and messages name the
// database or the statement.
#ifndef LEAT_FORMATS_DATABASE_SQLITE_H_
#define LEAT_FORMATS_DATABASE_SQLITE_H_

#include "base/status.h"
#include "base/string_view.h"

typedef struct leat_sqlite_s leat_sqlite_t;
typedef struct leat_sqlite_statement_s leat_sqlite_statement_t;

// Opens the file at |path|, which may be a URI as SQLite has them. One that |is_writable| is made
// where there is none.
LEAT_MUST_USE leat_status_t leat_sqlite_open(leat_string_view_t path, bool is_writable,
                                             leat_sqlite_t** out_database);
// After its statements are freed. NULL is allowed.
void leat_sqlite_close(leat_sqlite_t* database);
// While statements work they ask |check| some thousand times a second, and fail with CANCELLED
// where its answer is not 0. NULL: they ask nobody, which is so at first.
void leat_sqlite_set_check(leat_sqlite_t* database, int (*check)(void* data), void* data);

// Compiles the first statement of |text|. One without any has no columns and no rows.
LEAT_MUST_USE leat_status_t leat_sqlite_prepare(leat_sqlite_t* database, leat_string_view_t text,
                                                leat_sqlite_statement_t** out_statement);
void leat_sqlite_statement_free(leat_sqlite_statement_t* statement);  // NULL is allowed

// A value of a parameter. Text and bytes are borrowed.
typedef struct leat_sqlite_value_s {
  enum { LEAT_SQLITE_NULL, LEAT_SQLITE_INTEGER, LEAT_SQLITE_REAL, LEAT_SQLITE_TEXT,
         LEAT_SQLITE_BLOB } kind;
  union {
    int64_t integer;
    double real;
    leat_string_view_t bytes;
  };
} leat_sqlite_value_t;
#define LEAT_SQLITE_OF_INTEGER(value) {.kind = LEAT_SQLITE_INTEGER, .integer = (value)}
#define LEAT_SQLITE_OF_REAL(value) {.kind = LEAT_SQLITE_REAL, .real = (value)}
#define LEAT_SQLITE_OF_TEXT(value) {.kind = LEAT_SQLITE_TEXT, .bytes = (value)}
#define LEAT_SQLITE_OF_BLOB(value) {.kind = LEAT_SQLITE_BLOB, .bytes = (value)}

// Sets the parameters, of which there are |count|, before the first step. What is borrowed must
// live until the statement is reset or freed.
LEAT_MUST_USE leat_status_t leat_sqlite_bind(leat_sqlite_statement_t* statement,
                                             const leat_sqlite_value_t* values, int count);
// Goes to the next row; |*out_is_row| is false behind the last one. After that, and after a
// failure, the next step begins anew.
LEAT_MUST_USE leat_status_t leat_sqlite_step(leat_sqlite_statement_t* statement, bool* out_is_row);
// Goes back before the first row, and forgets the parameters.
void leat_sqlite_reset(leat_sqlite_statement_t* statement);

// The columns of the present row. What is of another type is converted by SQLite's rules: a text
// to the number that it begins with, NULL to 0 and to no bytes. The bytes live until the next step.
int leat_sqlite_column_count(const leat_sqlite_statement_t* statement);
int64_t leat_sqlite_integer(const leat_sqlite_statement_t* statement, int column);
double leat_sqlite_real(const leat_sqlite_statement_t* statement, int column);
LEAT_MUST_USE leat_status_t leat_sqlite_bytes(const leat_sqlite_statement_t* statement, int column,
                                              leat_string_view_t* out_bytes);

#endif  // LEAT_FORMATS_DATABASE_SQLITE_H_
