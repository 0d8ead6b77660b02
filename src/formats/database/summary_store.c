// The tables of a database of summaries, and the statements over them. Tables, columns and indices
// are TensorFlow's, so that its programs and ours may write into one database and others read it:
//
//   Users <- Experiments <- Runs <- Tags <- Tensors <- TensorStrings
//                             ^---- Graphs <- Nodes, NodeInputs
//
// A row of one refers to a row of the other by an identifier, which is unique among all rows of all
// tables; those that were given are in Ids. An identifier is a random number, so that programs
// which write at the same time rarely try the same one. It begins with 23 bits, which SQLite keeps
// in few bytes, and gets more of them whenever a number was taken.
//
// A statement is compiled when it is first used and kept, since a run writes the same few again and
// again. Every statement outside a transaction is one of its own: it is on the disk when it ends.
#include "formats/database/summary_store.h"

#include "base/allocator.h"
#include "base/random.h"
#include "base/string_builder.h"

static const struct {
  const char *name, *columns;
} kTables[] = {
    {"Ids", "id INTEGER PRIMARY KEY"},
    {"Descriptions", "id INTEGER PRIMARY KEY, description TEXT"},
    {"Tensors",
     "rowid INTEGER PRIMARY KEY, series INTEGER, step INTEGER, dtype INTEGER, computed_time REAL, "
     "shape TEXT, data BLOB"},
    {"TensorStrings",
     "rowid INTEGER PRIMARY KEY, tensor_rowid INTEGER NOT NULL, idx INTEGER NOT NULL, data BLOB"},
    {"Tags",
     "rowid INTEGER PRIMARY KEY, run_id INTEGER, tag_id INTEGER NOT NULL, inserted_time DOUBLE, "
     "tag_name TEXT, display_name TEXT, plugin_name TEXT, plugin_data BLOB"},
    {"Runs",
     "rowid INTEGER PRIMARY KEY, experiment_id INTEGER, run_id INTEGER NOT NULL, "
     "inserted_time REAL, started_time REAL, finished_time REAL, run_name TEXT"},
    {"Experiments",
     "rowid INTEGER PRIMARY KEY, user_id INTEGER, experiment_id INTEGER NOT NULL, "
     "inserted_time REAL, started_time REAL, is_watching INTEGER, experiment_name TEXT"},
    {"Users",
     "rowid INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, inserted_time REAL, user_name TEXT, "
     "email TEXT"},
    {"Graphs",
     "rowid INTEGER PRIMARY KEY, run_id INTEGER, graph_id INTEGER NOT NULL, inserted_time REAL, "
     "graph_def BLOB"},
    {"Nodes",
     "rowid INTEGER PRIMARY KEY, graph_id INTEGER NOT NULL, node_id INTEGER NOT NULL, "
     "node_name TEXT, op TEXT, device TEXT, node_def BLOB"},
    {"NodeInputs",
     "rowid INTEGER PRIMARY KEY, graph_id INTEGER NOT NULL, node_id INTEGER NOT NULL, "
     "idx INTEGER NOT NULL, input_node_id INTEGER NOT NULL, input_node_idx INTEGER, "
     "is_control INTEGER"},
};

// Of the rows where |condition| holds no two agree in |columns|.
static const struct {
  const char *name, *table, *columns, *condition;
} kIndices[] = {
    {"TensorSeriesStepIndex", "Tensors", "series, step", "series IS NOT NULL AND step IS NOT NULL"},
    {"TensorStringIndex", "TensorStrings", "tensor_rowid, idx", NULL},
    {"TagIdIndex", "Tags", "tag_id", NULL},
    {"TagRunNameIndex", "Tags", "run_id, tag_name", "run_id IS NOT NULL AND tag_name IS NOT NULL"},
    {"RunIdIndex", "Runs", "run_id", NULL},
    {"RunNameIndex", "Runs", "experiment_id, run_name", "run_name IS NOT NULL"},
    {"ExperimentIdIndex", "Experiments", "experiment_id", NULL},
    {"ExperimentNameIndex", "Experiments", "user_id, experiment_name",
     "experiment_name IS NOT NULL"},
    {"UserIdIndex", "Users", "user_id", NULL},
    {"UserNameIndex", "Users", "user_name", "user_name IS NOT NULL"},
    {"UserEmailIndex", "Users", "email", "email IS NOT NULL"},
    {"GraphIdIndex", "Graphs", "graph_id", NULL},
    {"GraphRunIndex", "Graphs", "run_id", "run_id IS NOT NULL"},
    {"NodeIdIndex", "Nodes", "graph_id, node_id", NULL},
    {"NodeNameIndex", "Nodes", "graph_id, node_name", "node_name IS NOT NULL"},
    {"NodeInputsIndex", "NodeInputs", "graph_id, node_id, idx", NULL},
};

// RESERVE takes a series, a number of rows and the bytes that each is to have room for.
static const char* const kStatements[LEAT_SUMMARY_STATEMENTS] = {
    [LEAT_SUMMARY_BEGIN] = "BEGIN",
    [LEAT_SUMMARY_COMMIT] = "COMMIT",
    [LEAT_SUMMARY_ROLLBACK] = "ROLLBACK",
    [LEAT_SUMMARY_ADD_ID] = "INSERT INTO Ids (id) VALUES (?)",
    [LEAT_SUMMARY_ADD_DESCRIPTION] =
        "INSERT OR REPLACE INTO Descriptions (id, description) VALUES (?, ?)",
    [LEAT_SUMMARY_FIND_USER] = "SELECT user_id FROM Users WHERE user_name = ?",
    [LEAT_SUMMARY_ADD_USER] =
        "INSERT INTO Users (user_id, user_name, inserted_time) VALUES (?, ?, ?)",
    [LEAT_SUMMARY_FIND_EXPERIMENT] = "SELECT experiment_id, started_time FROM Experiments "
                                     "WHERE user_id IS ? AND experiment_name = ?",
    [LEAT_SUMMARY_ADD_EXPERIMENT] =
        "INSERT INTO Experiments (user_id, experiment_id, experiment_name, inserted_time, "
        "started_time, is_watching) VALUES (?, ?, ?, ?, ?, 0)",
    [LEAT_SUMMARY_START_EXPERIMENT] =
        "UPDATE Experiments SET started_time = ? WHERE experiment_id = ?",
    [LEAT_SUMMARY_ADD_RUN] = "INSERT OR REPLACE INTO Runs (experiment_id, run_id, run_name, "
                             "inserted_time, started_time) VALUES (?, ?, ?, ?, ?)",
    [LEAT_SUMMARY_START_RUN] = "UPDATE Runs SET started_time = ? WHERE run_id = ?",
    [LEAT_SUMMARY_FINISH_RUN] = "UPDATE Runs SET finished_time = ? WHERE run_id = ?",
    [LEAT_SUMMARY_ADD_TAG] =
        "INSERT INTO Tags (run_id, tag_id, tag_name, inserted_time, display_name, plugin_name, "
        "plugin_data) VALUES (?, ?, ?, ?, ?, ?, ?)",
    [LEAT_SUMMARY_RESERVE] =
        "WITH RECURSIVE places (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM places WHERE i < ?2) "
        "INSERT INTO Tensors (series, data) SELECT ?1, zeroblob(?3) FROM places",
    [LEAT_SUMMARY_FIND_RESERVED] = "SELECT last_insert_rowid()",
    [LEAT_SUMMARY_GIVE_BACK] = "DELETE FROM Tensors WHERE rowid BETWEEN ? AND ? AND series = ?",
    [LEAT_SUMMARY_SET_TENSOR] =
        "UPDATE OR REPLACE Tensors SET step = ?, computed_time = ?, dtype = ?, shape = ?, data = ? "
        "WHERE rowid = ? AND series = ?",
    [LEAT_SUMMARY_DROP_STRINGS] = "DELETE FROM TensorStrings WHERE tensor_rowid = ?",
    [LEAT_SUMMARY_ADD_STRING] =
        "INSERT INTO TensorStrings (tensor_rowid, idx, data) VALUES (?, ?, ?)",
    [LEAT_SUMMARY_ADD_INPUT] = "INSERT INTO NodeInputs (graph_id, node_id, idx, input_node_id, "
                               "input_node_idx, is_control) VALUES (?, ?, ?, ?, ?, ?)",
    [LEAT_SUMMARY_ADD_NODE] = "INSERT INTO Nodes (graph_id, node_id, node_name, op, device, "
                              "node_def) VALUES (?, ?, ?, ?, ?, ?)",
    [LEAT_SUMMARY_ADD_GRAPH] = "INSERT OR REPLACE INTO Graphs (run_id, graph_id, inserted_time, "
                               "graph_def) VALUES (?, ?, ?, ?)",
};

// The bits of an identifier at first, at most, and what a collision adds to them.
enum { FIRST_BITS = 23, MOST_BITS = 47, MORE_BITS = 8, MOST_COLLISIONS = 20 };

// ---- Statements ---------------------------------------------------------------------------------

// Executes the next step of |statement| with |values|; the caller resets it.
static leat_status_t execute(leat_summary_store_t* store, leat_summary_statement_t which,
                             const leat_sqlite_value_t* values, int count, bool* out_is_row) {
  leat_sqlite_statement_t** statement = &store->statements[which];
  if (!*statement) {
    LEAT_RETURN_IF_ERROR(leat_sqlite_prepare(
        store->database, leat_string_view_from(kStatements[which]), statement));
  }
  LEAT_RETURN_IF_ERROR(leat_sqlite_bind(*statement, values, count));
  return leat_sqlite_step(*statement, out_is_row);
}

static void reset(leat_summary_store_t* store, leat_summary_statement_t which) {
  if (store->statements[which]) leat_sqlite_reset(store->statements[which]);
}

leat_status_t leat_summary_store_run(leat_summary_store_t* store,
                                     leat_summary_statement_t statement,
                                     const leat_sqlite_value_t* values, int count) {
  bool is_row;
  leat_status_t status = execute(store, statement, values, count, &is_row);
  reset(store, statement);
  return status;
}

leat_status_t leat_summary_store_find(leat_summary_store_t* store,
                                      leat_summary_statement_t statement,
                                      const leat_sqlite_value_t* values, int count,
                                      bool* out_is_row, int64_t* out_first, double* out_second) {
  leat_status_t status = execute(store, statement, values, count, out_is_row);
  *out_first = 0;
  *out_second = 0;
  if (!status && *out_is_row) {
    const leat_sqlite_statement_t* row = store->statements[statement];
    *out_first = leat_sqlite_integer(row, 0);
    if (leat_sqlite_column_count(row) > 1) *out_second = leat_sqlite_real(row, 1);
  }
  reset(store, statement);
  return status;
}

leat_status_t leat_summary_store_transact(leat_summary_store_t* store,
                                          leat_status_t (*work)(leat_summary_store_t* store,
                                                                void* data),
                                          void* data) {
  LEAT_RETURN_IF_ERROR(leat_summary_store_run(store, LEAT_SUMMARY_BEGIN, NULL, 0));
  leat_status_t status = work(store, data);
  if (!status) status = leat_summary_store_run(store, LEAT_SUMMARY_COMMIT, NULL, 0);
  if (status) {
    // SQLite may have rolled back by itself, and says then that there is no transaction.
    leat_status_free(leat_summary_store_run(store, LEAT_SUMMARY_ROLLBACK, NULL, 0));
  }
  return status;
}

// ---- Identifiers --------------------------------------------------------------------------------

leat_status_t leat_summary_store_new_id(leat_summary_store_t* store, int64_t* out_id) {
  for (int tries = 0;; ++tries) {
    const uint64_t bits = leat_random_seed() & ((UINT64_C(1) << store->id_bits) - 1);
    *out_id = bits ? (int64_t)bits : 1;
    leat_status_t status =
        leat_summary_store_run(store, LEAT_SUMMARY_ADD_ID,
                               LEAT_SUMMARY_VALUES(LEAT_SQLITE_OF_INTEGER(*out_id)));
    // It is INVALID_ARGUMENT that a number is taken.
    if (leat_status_code(status) != LEAT_INVALID_ARGUMENT || tries == MOST_COLLISIONS) {
      return status;
    }
    leat_status_free(status);
    if (store->id_bits < MOST_BITS) store->id_bits += MORE_BITS;
  }
}

leat_sqlite_value_t leat_summary_store_id(int64_t id) {
  return id ? (leat_sqlite_value_t)LEAT_SQLITE_OF_INTEGER(id) : (leat_sqlite_value_t){0};
}

// ---- Opening ------------------------------------------------------------------------------------

// Executes the text in |sql|, which is emptied.
static leat_status_t execute_text(leat_summary_store_t* store, leat_string_builder_t* sql) {
  leat_sqlite_statement_t* statement;
  bool is_row;
  LEAT_RETURN_IF_ERROR(leat_status_clone(sql->status));
  LEAT_RETURN_IF_ERROR(
      leat_sqlite_prepare(store->database, leat_string_builder_view(sql), &statement));
  leat_status_t status = leat_sqlite_step(statement, &is_row);
  leat_sqlite_statement_free(statement);
  sql->size = 0;
  return status;
}

static leat_status_t make_tables(leat_summary_store_t* store, void* data) {
  leat_string_builder_t* sql = data;
  for (size_t i = 0; i < sizeof kTables / sizeof *kTables; ++i) {
    leat_string_builder_print(sql, "CREATE TABLE IF NOT EXISTS %s (%s)", kTables[i].name,
                              kTables[i].columns);
    LEAT_RETURN_IF_ERROR(execute_text(store, sql));
  }
  for (size_t i = 0; i < sizeof kIndices / sizeof *kIndices; ++i) {
    const char* condition = kIndices[i].condition;
    leat_string_builder_print(sql, "CREATE UNIQUE INDEX IF NOT EXISTS %s ON %s (%s)%s%s",
                              kIndices[i].name, kIndices[i].table, kIndices[i].columns,
                              condition ? " WHERE " : "", condition ? condition : "");
    LEAT_RETURN_IF_ERROR(execute_text(store, sql));
  }
  return leat_ok_status();
}

leat_status_t leat_summary_store_open(leat_string_view_t path, leat_summary_store_t* out_store) {
  leat_string_builder_t sql;
  *out_store = (leat_summary_store_t){.id_bits = FIRST_BITS};
  LEAT_RETURN_IF_ERROR(leat_sqlite_open(path, true, &out_store->database));
  leat_string_builder_initialize(leat_allocator_system(), &sql);
  leat_status_t status = leat_summary_store_transact(out_store, make_tables, &sql);
  leat_string_builder_deinitialize(&sql);
  return status;
}

void leat_summary_store_close(leat_summary_store_t* store) {
  for (int i = 0; i < LEAT_SUMMARY_STATEMENTS; ++i) {
    leat_sqlite_statement_free(store->statements[i]);
  }
  leat_sqlite_close(store->database);
  *store = (leat_summary_store_t){0};
}
