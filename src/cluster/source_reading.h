// A cluster that is being read from a source: the tasks so far, and what readers ask of options and
// of the environment.
#ifndef LEAT_CLUSTER_SOURCE_READING_H_
#define LEAT_CLUSTER_SOURCE_READING_H_

#include "cluster/cluster_source.h"

typedef struct leat_cluster_entry_s {
  leat_string_view_t job, address;
  int index;
} leat_cluster_entry_t;

typedef struct leat_source_s {
  leat_cluster_place_t* place;
  leat_string_view_t from;  // for messages: "TF_CONFIG", "Slurm"
  leat_cluster_entry_t* entries;
  size_t count, capacity;
} leat_source_t;

// INVALID_ARGUMENT: "Reading the cluster from X failed: <what> is '<value>', must <rule>".
LEAT_MUST_USE leat_status_t leat_source_refuse(const leat_source_t* r, const char* what,
                                               leat_string_view_t value, const char* rule);
// Adds a task; the texts are copied.
LEAT_MUST_USE leat_status_t leat_source_add(leat_source_t* r, leat_string_view_t job, int index,
                                            leat_string_view_t address);
// |text| as a number from 0 to |most|; |name| is for the message.
LEAT_MUST_USE leat_status_t leat_source_number(const leat_source_t* r, const char* name,
                                               leat_string_view_t text, int64_t most,
                                               int* out_number);

// A variable of the environment; "" where it is not set.
leat_string_view_t leat_source_variable(const char* name);
// The first of the variables |names|, which NULL ends, that is set; |*out_name| is its name. ""
// where none is.
leat_string_view_t leat_source_first_variable(const char* const* names, const char** out_name);
// Takes the text before the first |separator| off the front, without blanks around it.
leat_string_view_t leat_source_take_part(leat_string_view_t* text, char separator);

// Options behind the name of a source, "ps=1,port=2222": those with names of their own, and jobs
// with their numbers of tasks.
enum { LEAT_SOURCE_MOST_COUNTS = 32 };
typedef struct leat_source_options_s {
  struct {
    leat_string_view_t job;
    int tasks;
  } counts[LEAT_SOURCE_MOST_COUNTS];
  int count;
  int port, size, timeout_s;  // 0: not given
  leat_string_view_t service, domain, name, folder, run, tasks_per_node;
} leat_source_options_t;
LEAT_MUST_USE leat_status_t leat_source_options_read(const leat_source_t* r,
                                                     leat_string_view_t text,
                                                     leat_source_options_t* out_options);
// Gives the processes at |addresses|, by number, to jobs as the options count them, and notes which
// of them is process |rank|, this one; below 0: none.
LEAT_MUST_USE leat_status_t leat_source_deal(leat_source_t* r,
                                             const leat_source_options_t* options,
                                             const leat_string_view_t* addresses, int size,
                                             int rank);

// ---- Readers ------------------------------------------------------------------------------------
// |options| is the text behind the name of the source.

LEAT_MUST_USE leat_status_t leat_source_read_slurm(leat_source_t* r,
                                                   leat_string_view_t options);
LEAT_MUST_USE leat_status_t leat_source_read_mpi(leat_source_t* r,
                                                 leat_string_view_t options);
// Whether this process was started by the MPI launcher mpirun, or is in a job of Slurm's.
bool leat_source_is_mpirun(void);
bool leat_source_is_slurm(void);

#endif  // LEAT_CLUSTER_SOURCE_READING_H_
