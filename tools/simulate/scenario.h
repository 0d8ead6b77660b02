// What leat simulate simulates: a cluster, the step of one of its workers, and how the workers take
// steps together. A scenario is written as lines, in the order that its author likes:
//
//   workers   = 50              # each takes steps of its own
//   servers   = 17              # among which parameters, and the work on them, are divided
//   bandwidth = 1.25 GB/s       # of each task's network interface, there and back
//   phase     = server send 104 MB
//   phase     = worker compute 1.8 s send 104 MB
//   phase     = server compute 17 ms
//
// A step is a list of phases, alternately of the servers and of the worker. A phase of the worker
// begins when what every server sent has come; a server's begins when the worker's message to that
// server has come. Amounts of servers and of what goes between them and the worker are those of the
// whole step, divided evenly; or those of each server where the word "each" follows; or as many as
// there are servers, with commas between.
#ifndef LEAT_TOOLS_SIMULATE_SCENARIO_H_
#define LEAT_TOOLS_SIMULATE_SCENARIO_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SCENARIO_PHASES = 64, SCENARIO_WORKERS = 100000, SCENARIO_SERVERS = 10000 };

// An amount of seconds, bytes or calls. With |count| 1 it is divided evenly, unless it is that of
// each server; otherwise each server has its own.
typedef struct portions_s {
  double* values;
  int count;
  bool is_each;
} portions_t;

typedef struct phase_s {
  bool is_server;
  portions_t compute;  // seconds of one core, or of |threads| of them
  portions_t send;     // bytes to the other side
  portions_t messages; // how many values these bytes are, each of which is a call
  double threads;
  int line;                // of the file that wrote it
} phase_t;

typedef enum { POLICY_ASYNC, POLICY_SYNC } policy_t;
typedef enum { MACHINES_SEPARATE, MACHINES_ONE } machines_t;

typedef struct scenario_s {
  double workers, servers, backup;  // whole numbers; |backup| workers are there besides |workers|
  double bandwidth;                 // bytes a second, each way; no limit where 0
  double latency;                   // seconds from the end of sending to the begin of receiving
  double worker_cores, server_cores;  // of the machine of one task
  double cores;                       // of the machine that all tasks share, with MACHINES_ONE
  double call_cpu;    // seconds that each end of a call computes
  double step_calls;  // of a step to each server, besides those for values
  double copy;        // bytes a second that a core puts into the network or takes out; no limit
                      // where 0
  double step_cpu;    // seconds that the client and the master of a worker compute for a step
  double update;      // seconds that the servers compute for each update, all servers together
  double examples;    // that a step of one worker learns from
  double lognormal;   // deviation of the logarithm of a step's factor
  double tail_chance, tail_factor;  // of a step that takes longer still
  double steps, warmup, seed;       // steps of a worker that are counted, and before these
  double policy, machines;          // policy_t, machines_t
  char* samples_path;  // a file of measured times, from which the factors are drawn, or NULL
  phase_t phases[SCENARIO_PHASES];
  int phase_count;
  int lines[32];      // for each field, the line of the file that set it
} scenario_t;

// Where a problem is told: "<place>: <field> is '<value>', must be <rule>".
typedef struct scenario_error_s {
  char text[512];
} scenario_error_t;

// The defaults. A scenario is freed by scenario_free, whatever has become of it.
void scenario_initialize(scenario_t* scenario);
void scenario_free(scenario_t* scenario);
// Sets fields from the lines of |text|. |name| is that of the file. false with |out_error| set.
bool scenario_parse(scenario_t* scenario, const char* name, const char* text, size_t size,
                    scenario_error_t* out_error);
// Sets one field. |place| is what an error begins with. A |phase| is added to those that are there.
bool scenario_set(scenario_t* scenario, const char* place, const char* field, const char* value,
                  scenario_error_t* out_error);
// Whether the fields fit together, and the simulation will end within minutes.
bool scenario_check(const scenario_t* scenario, const char* name, scenario_error_t* out_error);
// Adds an empty phase, or returns NULL where there are too many. Its amounts are set with
// scenario_portions, which gives room for |count| zeros, or NULL without memory.
phase_t* scenario_add_phase(scenario_t* scenario, bool is_server);
double* scenario_portions(portions_t* portions, int count);
// Prints lines that scenario_parse reads as the same scenario, to nine digits.
void scenario_print(const scenario_t* scenario, FILE* out);

// The amount of server |server|, of |servers|, and of all of them.
double portions_of(const portions_t* portions, int server, int servers);
double portions_total(const portions_t* portions, int servers);

#endif  // LEAT_TOOLS_SIMULATE_SCENARIO_H_
