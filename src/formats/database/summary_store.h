// A database of summaries as TensorFlow's CreateSummaryDbWriter makes it: the connection, its
// tables, the statements that are used again and again, and the identifiers that tell rows apart.
// What a run writes there is in formats/database/summary_database.h, which alone uses this. A store
// belongs to one thread at a time.
#ifndef LEAT_FORMATS_DATABASE_SUMMARY_STORE_H_
#define LEAT_FORMATS_DATABASE_SUMMARY_STORE_H_

#include "formats/database/sqlite.h"
#include "formats/generated/graph.h"

// The statements; their parameters are their columns, in order.
typedef enum leat_summary_statement_e {
  LEAT_SUMMARY_BEGIN,
  LEAT_SUMMARY_COMMIT,
  LEAT_SUMMARY_ROLLBACK,
  LEAT_SUMMARY_ADD_ID,
  LEAT_SUMMARY_ADD_DESCRIPTION,
  LEAT_SUMMARY_FIND_USER,
  LEAT_SUMMARY_ADD_USER,
  LEAT_SUMMARY_FIND_EXPERIMENT,
  LEAT_SUMMARY_ADD_EXPERIMENT,
  LEAT_SUMMARY_START_EXPERIMENT,
  LEAT_SUMMARY_ADD_RUN,
  LEAT_SUMMARY_START_RUN,
  LEAT_SUMMARY_FINISH_RUN,
  LEAT_SUMMARY_ADD_TAG,
  LEAT_SUMMARY_RESERVE,
  LEAT_SUMMARY_FIND_RESERVED,
  LEAT_SUMMARY_GIVE_BACK,
  LEAT_SUMMARY_SET_TENSOR,
  LEAT_SUMMARY_DROP_STRINGS,
  LEAT_SUMMARY_ADD_STRING,
  LEAT_SUMMARY_ADD_INPUT,
  LEAT_SUMMARY_ADD_NODE,
  LEAT_SUMMARY_ADD_GRAPH,
  LEAT_SUMMARY_STATEMENTS,
} leat_summary_statement_t;

typedef struct leat_summary_store_s {
  leat_sqlite_t* database;
  leat_sqlite_statement_t* statements[LEAT_SUMMARY_STATEMENTS];  // NULL: not used yet
  int id_bits;  // of new identifiers
} leat_summary_store_t;

// Opens the database at |path|, and makes it, or tables that it lacks. A store whose opening failed
// may be closed too.
LEAT_MUST_USE leat_status_t leat_summary_store_open(leat_string_view_t path,
                                                    leat_summary_store_t* out_store);
void leat_summary_store_close(leat_summary_store_t* store);

// Executes a statement that gives no row.
LEAT_MUST_USE leat_status_t leat_summary_store_run(leat_summary_store_t* store,
                                                   leat_summary_statement_t statement,
                                                   const leat_sqlite_value_t* values, int count);
#define LEAT_SUMMARY_VALUES(...)              \
  (const leat_sqlite_value_t[]){__VA_ARGS__}, \
      (int)(sizeof((leat_sqlite_value_t[]){__VA_ARGS__}) / sizeof(leat_sqlite_value_t))
// Executes one that gives a row, or none: two numbers, of which the second is 0 where it has one
// column.
LEAT_MUST_USE leat_status_t leat_summary_store_find(leat_summary_store_t* store,
                                                    leat_summary_statement_t statement,
                                                    const leat_sqlite_value_t* values, int count,
                                                    bool* out_is_row, int64_t* out_first,
                                                    double* out_second);
// What |work| writes, it writes as a whole or, where it fails, not at all.
LEAT_MUST_USE leat_status_t leat_summary_store_transact(
    leat_summary_store_t* store, leat_status_t (*work)(leat_summary_store_t* store, void* data),
    void* data);
// A number that no other row of the database has as its identifier.
LEAT_MUST_USE leat_status_t leat_summary_store_new_id(leat_summary_store_t* store,
                                                      int64_t* out_id);
// The identifier |id| as a value; 0 stands for none.
leat_sqlite_value_t leat_summary_store_id(int64_t id);

// Writes |graph|, whose |run_id| may be 0: its edges, its nodes without what has columns of its
// own, and the rest of it. DATA_LOSS for an input that names no node.
LEAT_MUST_USE leat_status_t leat_summary_store_add_graph(leat_summary_store_t* store,
                                                         int64_t run_id, double now,
                                                         const leat_pb_graph_def_t* graph);

#endif  // LEAT_FORMATS_DATABASE_SUMMARY_STORE_H_
