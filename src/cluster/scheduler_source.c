// Clusters of the processes that Slurm and MPI started. Both number the processes, and the options
// say which of them are of which job (source_reading.h). Where the others run is told by Slurm, in
// a list of hosts with the number of processes on each; the way in which numbers were given to
// places on hosts is told too, and two ways are known here:
//
//   2 hosts, 2 processes on each    block   a: 0 1  b: 2 3      cyclic   a: 0 2  b: 1 3
//
// A list that is wrong in one place leads all processes to a wrong address, so this one checks that
// it is itself on the host, and at the place there, where the list has it. Processes on one host
// take ports that follow one another, from 8888 on as TensorFlow's resolver has it.
//
// MPI tells no process where the others are. Where all run on this machine, which Open MPI says,
// that is known; else they tell each other through a folder (rank_exchange.h).
#include <stdio.h>

#include "base/host.h"
#include "cluster/host_list.h"
#include "cluster/rank_exchange.h"
#include "cluster/source_reading.h"

enum { FIRST_PORT = 8888, EXCHANGE_TIMEOUT_S = 60 };

typedef leat_source_t reading_t;

static leat_status_t print_address(reading_t* r, leat_string_view_t host, int port,
                                   leat_string_view_t* out_address) {
  char text[16];
  snprintf(text, sizeof text, "%d", port);
  if (port > 65535) {
    return leat_source_refuse(r, "a port", leat_string_view_from(text), "be at most 65535");
  }
  return leat_arena_print(&r->place->arena, out_address, "%.*s:%s", LEAT_SV_ARG(host), text);
}

// ---- Slurm --------------------------------------------------------------------------------------

static const char* const kNodeLists[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
                                         "SLURM_NODELIST", NULL};

// The processes of a step, as Slurm laid them out.
typedef struct layout_s {
  leat_string_view_t* hosts;
  size_t host_count;
  int* tasks;   // on each host
  int *node, *local;  // of each process: the number of its host, and its own there
  int size;
} layout_t;

bool leat_source_is_slurm(void) {
  const char* name;
  return leat_source_first_variable(kNodeLists, &name).size > 0;
}

static leat_status_t read_hosts(reading_t* r, const leat_source_options_t* options,
                                layout_t* layout) {
  static const char* const kTasks[] = {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", NULL};
  leat_arena_t* arena = &r->place->arena;
  const char *nodes_name, *tasks_name;
  const leat_string_view_t nodes = leat_source_first_variable(kNodeLists, &nodes_name);
  leat_string_view_t tasks = leat_source_first_variable(kTasks, &tasks_name);
  if (nodes.size == 0) {
    return leat_make_status(LEAT_NOT_FOUND,
                            "Reading the cluster from Slurm failed: SLURM_STEP_NODELIST is not "
                            "set, must name the hosts: srun sets it");
  }
  if (options->tasks_per_node.size) {  // with '+' for ',', which separates options
    tasks_name = "option tasks_per_node";
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, options->tasks_per_node, &tasks));
    for (size_t i = 0; i < tasks.size; ++i) {
      if (tasks.data[i] == '+') ((char*)tasks.data)[i] = ',';
    }
  }
  leat_status_t status = leat_host_list_expand(nodes, LEAT_CLUSTER_MOST_TASKS, arena,
                                               &layout->hosts, &layout->host_count);
  if (status) return leat_status_annotate(status, "%s is wrong", nodes_name);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, layout->host_count, &layout->tasks));
  if (tasks.size == 0) tasks = LEAT_SV("1");
  status = leat_task_counts_expand(tasks, layout->host_count, LEAT_CLUSTER_MOST_TASKS,
                                   layout->tasks);
  if (status) return leat_status_annotate(status, "%s is wrong", tasks_name);
  for (size_t i = 0; i < layout->host_count; ++i) layout->size += layout->tasks[i];
  return leat_ok_status();
}

// Gives the numbers of the processes to places on hosts.
static leat_status_t lay_out(reading_t* r, layout_t* layout) {
  const leat_string_view_t way = leat_source_variable("SLURM_DISTRIBUTION");
  const bool is_cyclic = leat_string_view_starts_with(way, LEAT_SV("cyclic"));
  if (way.size && !is_cyclic && !leat_string_view_starts_with(way, LEAT_SV("block"))) {
    return leat_source_refuse(r, "SLURM_DISTRIBUTION", way,
                              "begin with block or cyclic (srun --distribution)");
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&r->place->arena, (size_t)layout->size + 1, &layout->node));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&r->place->arena, (size_t)layout->size + 1, &layout->local));
  int next = 0;
  for (int round = 0; next < layout->size; ++round) {
    for (size_t i = 0; i < layout->host_count; ++i) {
      const int end = is_cyclic ? round + 1 : layout->tasks[i];
      for (int k = is_cyclic ? round : 0; k < end && k < layout->tasks[i]; ++k, ++next) {
        layout->node[next] = (int)i;
        layout->local[next] = k;
      }
    }
  }
  return leat_ok_status();
}

// Reads the number of this process; -1 outside of a step, as in the script of a job. Its place must
// be that of the list.
static leat_status_t find_own(reading_t* r, const layout_t* layout, int* out_rank) {
  const leat_string_view_t rank = leat_source_variable("SLURM_PROCID");
  const leat_string_view_t node = leat_source_variable("SLURM_NODEID");
  const leat_string_view_t local = leat_source_variable("SLURM_LOCALID");
  int number;
  *out_rank = -1;
  if (leat_source_variable("SLURM_STEP_NODELIST").size == 0 || rank.size == 0) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(
      leat_source_number(r, "SLURM_PROCID", rank, layout->size - 1, out_rank));
  const struct {
    const char* name;
    leat_string_view_t text;
    int expected;
  } kPlaces[] = {{"SLURM_NODEID", node, layout->node[*out_rank]},
                 {"SLURM_LOCALID", local, layout->local[*out_rank]}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kPlaces); ++i) {
    char rule[96];
    if (kPlaces[i].text.size == 0) continue;
    LEAT_RETURN_IF_ERROR(leat_source_number(r, kPlaces[i].name, kPlaces[i].text,
                                            LEAT_CLUSTER_MOST_TASKS, &number));
    if (number == kPlaces[i].expected) continue;
    snprintf(rule, sizeof rule, "be %d for process %d by the lists of nodes and tasks",
             kPlaces[i].expected, *out_rank);
    return leat_source_refuse(r, kPlaces[i].name, kPlaces[i].text, rule);
  }
  return leat_ok_status();
}

leat_status_t leat_source_read_slurm(reading_t* r, leat_string_view_t text) {
  leat_source_options_t options;
  layout_t layout = {0};
  leat_string_view_t* addresses;
  int rank;
  LEAT_RETURN_IF_ERROR(leat_source_options_read(r, text, &options));
  LEAT_RETURN_IF_ERROR(read_hosts(r, &options, &layout));
  LEAT_RETURN_IF_ERROR(lay_out(r, &layout));
  LEAT_RETURN_IF_ERROR(find_own(r, &layout, &rank));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&r->place->arena, (size_t)layout.size + 1, &addresses));
  for (int i = 0; i < layout.size; ++i) {
    LEAT_RETURN_IF_ERROR(print_address(
        r, layout.hosts[layout.node[i]],
        (options.port ? options.port : FIRST_PORT) + layout.local[i], &addresses[i]));
  }
  return leat_source_deal(r, &options, addresses, layout.size, rank);
}

// ---- MPI ----------------------------------------------------------------------------------------

bool leat_source_is_mpirun(void) {
  return leat_source_variable("OMPI_COMM_WORLD_RANK").size > 0 ||
         (leat_source_variable("PMI_RANK").size > 0 && !leat_source_is_slurm());
}

// Open MPI, MPICH and Intel MPI, and whoever speaks PMIx alone.
static const char* const kRanks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL};
static const char* const kSizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
static const char* const kLocals[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", NULL};
static const char* const kRuns[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID",
                                    NULL};

// Has the processes tell each other their addresses.
static leat_status_t exchange(reading_t* r, const leat_source_options_t* options, int rank,
                              int size, leat_string_view_t* addresses) {
  const char* name;
  char host[256];
  int local = rank;
  leat_rank_exchange_t exchange = {
      .folder = options->folder,
      .run = options->run.size ? options->run : leat_source_first_variable(kRuns, &name),
      .rank = rank,
      .size = size,
      .timeout_ms = INT64_C(1000) * (options->timeout_s ? options->timeout_s : EXCHANGE_TIMEOUT_S)};
  if (options->folder.size == 0 || exchange.run.size == 0) {
    return leat_source_refuse(
        r, options->folder.size ? "option run" : "option folder", LEAT_SV(""),
        options->folder.size ? "be a name, since no variable tells this run from others"
                             : "be a folder that all processes see: they run on several machines "
                               "and must tell each other where");
  }
  const leat_string_view_t text = leat_source_first_variable(kLocals, &name);
  if (text.size) LEAT_RETURN_IF_ERROR(leat_source_number(r, name, text, size - 1, &local));
  leat_host_name(host, sizeof host);
  LEAT_RETURN_IF_ERROR(print_address(r, leat_string_view_from(host),
                                     (options->port ? options->port : FIRST_PORT) + local,
                                     &exchange.address));
  return leat_rank_exchange(&exchange, &r->place->arena, addresses);
}

leat_status_t leat_source_read_mpi(reading_t* r, leat_string_view_t text) {
  leat_source_options_t options;
  leat_string_view_t* addresses;
  const char* name;
  int rank, size;
  LEAT_RETURN_IF_ERROR(leat_source_options_read(r, text, &options));
  const leat_string_view_t rank_text = leat_source_first_variable(kRanks, &name);
  if (rank_text.size == 0) {
    return leat_make_status(LEAT_NOT_FOUND,
                            "Reading the cluster from MPI failed: none of OMPI_COMM_WORLD_RANK, "
                            "PMI_RANK and PMIX_RANK is set, must be the number of this process: "
                            "mpirun sets it");
  }
  size = options.size;
  const char* size_name;
  const leat_string_view_t size_text = leat_source_first_variable(kSizes, &size_name);
  if (!size && size_text.size) {
    LEAT_RETURN_IF_ERROR(leat_source_number(r, size_name, size_text,
                                            LEAT_CLUSTER_MOST_TASKS, &size));
  }
  if (size < 1) {
    return leat_source_refuse(r, "the number of processes", size_text,
                              "be above 0: size=NUMBER, where no variable tells it");
  }
  LEAT_RETURN_IF_ERROR(leat_source_number(r, name, rank_text, size - 1, &rank));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&r->place->arena, (size_t)size, &addresses));
  const bool is_here = leat_string_view_equal(
      leat_source_variable("OMPI_COMM_WORLD_LOCAL_SIZE"), size_text);
  if (!is_here || size_text.size == 0 || options.folder.size) {
    LEAT_RETURN_IF_ERROR(exchange(r, &options, rank, size, addresses));
  } else {
    for (int i = 0; i < size; ++i) {
      LEAT_RETURN_IF_ERROR(print_address(r, LEAT_SV("localhost"),
                                         (options.port ? options.port : FIRST_PORT) + i,
                                         &addresses[i]));
    }
  }
  return leat_source_deal(r, &options, addresses, size, rank);
}
