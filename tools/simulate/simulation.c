// How a cluster trains, as events. A step of a worker goes the way of Leat's protocol: its master
// asks each server to run its part (RunGraph); the phases follow each other; each value crosses by
// a call of its own (RecvTensor); each server answers when its part is done. TensorFlow's servers
// are told to forget the step afterwards by a call for which nobody waits (CleanupGraph).
//
//   worker  START ─▶ RunGraph ·┐              ┌▶ TAKE ─▶ COMPUTE ─▶ ··┐          ┌▶ step ends
//   server                     └▶ SERVE ─▶ ···┘                       └▶ SERVE ─▶┘
//                                    transfer, latency      transfer, latency   answer
//
// A transfer is a job of up to four resources at once (the interface that sends, the one that
// receives, and the processors of both ends that copy its bytes), and is over when the last of them
// has done its part. That is a pipeline whose pieces are infinitely small. Each resource shares
// itself fairly without knowing of the others, which is where this differs from the max-min shares
// of an ideal network: there, a transfer that is slow at one end leaves more of the other end to
// its neighbours while it lasts. The work that each resource does is the same.
//
// A worker and a server have at most one transfer between them at a time, because phases alternate.
// So |parts|, the number of unfinished parts, is kept for each pair, and an event need only name
// the pair.
//
// With policy sync a round ends when as many workers as the scenario asks for have all of their
// gradients at the servers. Then the servers compute the update and the workers that wait begin.
// A worker that comes later has worked for nothing and begins with the round that is there.
#include "simulate/simulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/event_queue.h"
#include "simulate/straggler.h"

enum {
  ENTER,    // a worker takes its first step
  START,    // a worker's client and master have prepared the step
  ARRIVE,   // a message reached the other side
  PART,     // a resource has done its part of a transfer
  SERVE,    // a server has computed a phase for a worker
  TAKE,     // a worker has taken what a server sent
  COMPUTE,  // a worker has computed a phase
  UPDATE,   // a server has computed its share of an update
  RELEASE   // the update is there
};
enum { CPU, SEND, RECEIVE, KINDS };
#define NOBODY (-1)

typedef struct replica_s {
  double started, factor;
  int waits_for;     // how many servers' messages the current phase lacks
  int round;         // in which the step began
  bool is_idle;      // waits for an update
  double ended;      // when it began to wait
} replica_t;

typedef struct cluster_s {
  const scenario_t* s;
  event_queue_t* queue;
  straggler_t straggler;
  replica_t* replicas;
  unsigned char* parts;  // of the transfer of each pair
  int workers, servers;
  // The round with policy sync.
  int round, arrived, updating;
  bool is_updating;
  double round_began;
  // What is measured, from |window_began| on.
  long ended, first, last;   // steps; those counted are from |first| up to, but without, |last|
  double* durations;
  double window_began, waited, computed, dropped, owed;
  double* given;             // by each resource when the window began
} cluster_t;

// ---- Resources ----------------------------------------------------------------------------------

static int resource_of(const cluster_t* c, bool is_server, int task, int kind) {
  return KINDS * (is_server ? c->workers + task : task) + kind;
}

static int cpu_of(const cluster_t* c, bool is_server, int task) {
  return c->s->machines == MACHINES_ONE ? 0 : resource_of(c, is_server, task, CPU);
}

static void work(cluster_t* c, int resource, double seconds, double width, event_t event) {
  if (seconds > 0) {
    event_queue_work(c->queue, resource, seconds, width, event);
  } else {
    event_queue_delay(c->queue, 0, event);
  }
}

// Sends |bytes| between the two tasks of |pair|; ARRIVE with the phase of |pair| follows.
static void transfer(cluster_t* c, event_t pair, bool from_server, double bytes) {
  const scenario_t* s = c->s;
  int from = from_server ? pair.server : pair.worker, to = from_server ? pair.worker : pair.server;
  unsigned char* parts = &c->parts[(size_t)pair.worker * (size_t)c->servers + (size_t)pair.server];
  *parts = 0;
  pair.kind = PART;
  if (bytes > 0 && s->bandwidth > 0 && s->machines == MACHINES_SEPARATE) {
    *parts += 2;
    double seconds = bytes / s->bandwidth;
    event_queue_work(c->queue, resource_of(c, from_server, from, SEND), seconds, 1, pair);
    event_queue_work(c->queue, resource_of(c, !from_server, to, RECEIVE), seconds, 1, pair);
  }
  if (bytes > 0 && s->copy > 0) {
    *parts += 2;
    event_queue_work(c->queue, cpu_of(c, from_server, from), bytes / s->copy, 1, pair);
    event_queue_work(c->queue, cpu_of(c, !from_server, to), bytes / s->copy, 1, pair);
  }
  if (*parts > 0) return;
  pair.kind = ARRIVE;
  event_queue_delay(c->queue, s->latency, pair);
}

// ---- A step -------------------------------------------------------------------------------------

static void start_step(cluster_t* c, int worker) {
  replica_t* r = &c->replicas[worker];
  r->started = event_queue_now(c->queue);
  r->round = c->round;
  r->factor = straggler_next(&c->straggler);
  r->is_idle = false;
  double seconds = c->s->step_cpu + c->servers * c->s->step_calls * c->s->call_cpu;
  work(c, cpu_of(c, false, worker), seconds, 1, (event_t){worker, NOBODY, 0, START});
}

// The work that a server does for a worker in a phase. In its first phase it takes the
// calls of the step too.
static void serve(cluster_t* c, event_t event) {
  const scenario_t* s = c->s;
  const phase_t* phase = &s->phases[event.phase];
  double calls = portions_of(&phase->messages, event.server, c->servers);
  if (event.phase > 0) {
    calls += portions_of(&s->phases[event.phase - 1].messages, event.server, c->servers);
  }
  if (event.phase <= 1) calls += s->step_calls;
  bool is_late = s->policy == POLICY_SYNC && c->replicas[event.worker].round != c->round &&
                 event.phase == s->phase_count - 1;
  double seconds = is_late ? 0 : portions_of(&phase->compute, event.server, c->servers);
  event.kind = SERVE;
  // Calls are handled by one thread each, so they are added to a computation of several threads by
  // their work.
  work(c, cpu_of(c, true, event.server), seconds + calls * s->call_cpu / phase->threads,
       phase->threads, event);
}

static void compute(cluster_t* c, int worker, short phase) {
  const phase_t* p = &c->s->phases[phase];
  double seconds = portions_total(&p->compute, c->servers) * c->replicas[worker].factor;
  c->owed += seconds;
  seconds += portions_total(&p->messages, c->servers) * c->s->call_cpu / p->threads;
  work(c, cpu_of(c, false, worker), seconds, p->threads, (event_t){worker, NOBODY, phase, COMPUTE});
}

// Begins a phase of the worker, or its wait for the first phase of the servers.
static void begin_phases(cluster_t* c, int worker) {
  c->replicas[worker].waits_for = c->servers;
  if (!c->s->phases[0].is_server) {
    compute(c, worker, 0);
    return;
  }
  for (int server = 0; server < c->servers; ++server) {
    event_queue_delay(c->queue, c->s->latency, (event_t){worker, server, 0, ARRIVE});
  }
}

static void begin_update(cluster_t* c);

// Counts a step, or an update, that took |seconds|.
static void count_step(cluster_t* c, double seconds) {
  if (c->ended >= c->first && c->ended < c->last) c->durations[c->ended - c->first] = seconds;
  if (++c->ended != c->first) return;
  c->window_began = event_queue_now(c->queue);
  c->waited = c->computed = c->owed = c->dropped = 0;
  for (int i = 0; i < KINDS * (c->workers + c->servers); ++i) {
    c->given[i] = event_queue_given(c->queue, i);
  }
}

static void end_step(cluster_t* c, int worker) {
  replica_t* r = &c->replicas[worker];
  double now = event_queue_now(c->queue);
  if (c->s->policy == POLICY_ASYNC) {
    count_step(c, now - r->started);
    start_step(c, worker);
    return;
  }
  if (r->round == c->round && !c->is_updating) {
    r->is_idle = true;
    r->ended = now;
    if (++c->arrived == (int)c->s->workers) begin_update(c);
    return;
  }
  ++c->dropped;
  r->is_idle = c->is_updating;
  r->ended = now;
  if (!c->is_updating) start_step(c, worker);
}

// The chief asks the servers for the update, which they compute; its end is told to all workers.
static void begin_update(cluster_t* c) {
  c->is_updating = true;
  c->updating = c->servers;
  for (int server = 0; server < c->servers; ++server) {
    double seconds = c->s->update / c->servers + c->s->call_cpu;
    work(c, cpu_of(c, true, server), seconds, 1, (event_t){NOBODY, server, 0, UPDATE});
  }
}

static void end_update(cluster_t* c) {
  double now = event_queue_now(c->queue);
  for (int i = 0; i < c->workers; ++i) {
    replica_t* r = &c->replicas[i];
    if (r->is_idle) c->waited += now - fmax(r->ended, c->window_began);
  }
  count_step(c, now - c->round_began);
  c->round_began = now;
  ++c->round;
  c->arrived = 0;
  c->is_updating = false;
  for (int i = 0; i < c->workers; ++i) {
    if (c->replicas[i].is_idle) start_step(c, i);
  }
}

// A message has come to the side that |event.phase| is of: RunGraph or a worker's values to a
// server, a server's values to a worker, or its answer after the last phase.
static void arrive(cluster_t* c, event_t event) {
  const scenario_t* s = c->s;
  if (event.phase < s->phase_count && s->phases[event.phase].is_server) {
    serve(c, event);
    return;
  }
  event.kind = TAKE;
  double calls = portions_of(&s->phases[event.phase - 1].messages, event.server, c->servers);
  work(c, cpu_of(c, false, event.worker), calls * s->call_cpu, 1, event);
}

static void end_serving(cluster_t* c, event_t event) {
  const phase_t* phase = &c->s->phases[event.phase];
  double bytes = portions_of(&phase->send, event.server, c->servers);
  ++event.phase;
  transfer(c, event, true, bytes);
}

static void end_computing(cluster_t* c, event_t event) {
  const phase_t* phase = &c->s->phases[event.phase];
  if (event.phase == c->s->phase_count - 1) {
    end_step(c, event.worker);
    return;
  }
  c->replicas[event.worker].waits_for = c->servers;
  ++event.phase;
  for (event.server = 0; event.server < c->servers; ++event.server) {
    transfer(c, event, false, portions_of(&phase->send, event.server, c->servers));
  }
}

// One more server's message is there: with the last one the worker's next phase begins, or its step
// ends.
static void end_taking(cluster_t* c, event_t event) {
  if (--c->replicas[event.worker].waits_for > 0) return;
  if (event.phase == c->s->phase_count) {
    end_step(c, event.worker);
  } else {
    compute(c, event.worker, event.phase);
  }
}

static void end_part(cluster_t* c, event_t event) {
  size_t pair = (size_t)event.worker * (size_t)c->servers + (size_t)event.server;
  if (--c->parts[pair] > 0) return;
  event.kind = ARRIVE;
  event_queue_delay(c->queue, c->s->latency, event);
}

static void handle(cluster_t* c, event_t event) {
  switch (event.kind) {
    case ENTER: start_step(c, event.worker); break;
    case START: begin_phases(c, event.worker); break;
    case ARRIVE: arrive(c, event); break;
    case PART: end_part(c, event); break;
    case SERVE: end_serving(c, event); break;
    case TAKE: end_taking(c, event); break;
    case COMPUTE: end_computing(c, event); break;
    case UPDATE:
      // The chief's request, its answer, and the token that lets a worker go on.
      if (--c->updating == 0) {
        event_queue_delay(c->queue, 3 * c->s->latency, (event_t){NOBODY, NOBODY, 0, RELEASE});
      }
      break;
    case RELEASE: end_update(c); break;
  }
}

// ---- The outcome --------------------------------------------------------------------------------

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void measure_usage(cluster_t* c, outcome_t* o) {
  const scenario_t* s = c->s;
  bool is_one = s->machines == MACHINES_ONE;
  for (int side = 0; side < 2; ++side) {
    int tasks = side ? c->servers : c->workers;
    for (int kind = 0; kind < KINDS; ++kind) {
      double capacity = kind != CPU ? 1 : is_one ? s->cores : side ? s->server_cores
                                                                   : s->worker_cores;
      double all = 0, most = 0;
      for (int task = 0; task < tasks; ++task) {
        int resource = resource_of(c, side, task, kind);
        double part = (event_queue_given(c->queue, resource) - c->given[resource]) /
                      (capacity * o->window);
        all += part;
        most = fmax(most, part);
      }
      bool is_shared = is_one && kind == CPU && !side;  // all is done by the first
      o->usage[KINDS * side + kind] = is_shared ? most : all / tasks;
      o->busiest[KINDS * side + kind] = most;
    }
  }
}

static bool conclude(cluster_t* c, outcome_t* o, scenario_error_t* error) {
  const scenario_t* s = c->s;
  long count = c->last - c->first;
  *o = (outcome_t){.steps = count, .window = event_queue_now(c->queue) - c->window_began};
  if (!(o->window > 0)) {
    snprintf(error->text, sizeof error->text,
             "a step takes no time, must take some: phases have no compute, bytes or latency");
    return false;
  }
  qsort(c->durations, (size_t)count, sizeof *c->durations, compare);
  for (long i = 0; i < count; ++i) o->mean += c->durations[i] / (double)count;
  o->median = c->durations[count / 2];
  o->p90 = c->durations[count * 9 / 10];
  o->p99 = c->durations[count * 99 / 100];
  o->steps_per_second = (double)count / o->window;
  o->examples_per_second =
      o->steps_per_second * s->examples * (s->policy == POLICY_SYNC ? s->workers : 1);
  o->compute = c->owed / (o->window * c->workers);
  o->waiting = c->waited / (o->window * c->workers);
  o->dropped = c->dropped / (double)count;
  measure_usage(c, o);
  return true;
}

// ---- Running ------------------------------------------------------------------------------------

static void set_capacities(cluster_t* c) {
  const scenario_t* s = c->s;
  for (int i = 0; i < c->workers; ++i) {
    event_queue_set_capacity(c->queue, resource_of(c, false, i, CPU), s->worker_cores);
  }
  for (int i = 0; i < c->servers; ++i) {
    event_queue_set_capacity(c->queue, resource_of(c, true, i, CPU), s->server_cores);
  }
  if (s->machines == MACHINES_ONE) event_queue_set_capacity(c->queue, 0, s->cores);
}

// Workers at their own pace begin at different times, spread over a step that nobody disturbs: they
// would otherwise meet at the servers in each step.
static void start_workers(cluster_t* c) {
  const scenario_t* s = c->s;
  double step = s->step_cpu;
  for (int i = 0; i < s->phase_count; ++i) {
    double compute = portions_total(&s->phases[i].compute, c->servers);
    step += s->phases[i].is_server ? compute / c->servers : compute;
    if (s->bandwidth > 0) step += portions_total(&s->phases[i].send, c->servers) / s->bandwidth;
  }
  for (int i = 0; i < c->workers; ++i) {
    if (s->policy == POLICY_SYNC) {
      start_step(c, i);
    } else {
      event_queue_delay(c->queue, step * straggler_uniform(&c->straggler),
                        (event_t){i, NOBODY, 0, ENTER});
    }
  }
}

static bool run(cluster_t* c, outcome_t* outcome, scenario_error_t* error) {
  event_t event;
  set_capacities(c);
  start_workers(c);
  while (c->ended < c->last && event_queue_next(c->queue, &event)) handle(c, event);
  if (c->ended < c->last) {  // some worker always has an event ahead
    snprintf(error->text, sizeof error->text, "no memory for the events");
    return false;
  }
  return conclude(c, outcome, error);
}

bool simulate(const scenario_t* s, outcome_t* outcome, scenario_error_t* error) {
  cluster_t c = {.s = s, .workers = (int)(s->workers + s->backup), .servers = (int)s->servers};
  long each = s->policy == POLICY_SYNC ? 1 : c.workers;
  c.first = each * (long)s->warmup;
  c.last = c.first + each * (long)s->steps;
  int resources = KINDS * (c.workers + c.servers);
  size_t pairs = (size_t)c.workers * (size_t)c.servers;
  c.queue = event_queue_create(resources);
  c.replicas = calloc((size_t)c.workers, sizeof *c.replicas);
  c.parts = calloc(pairs, 1);
  c.durations = calloc((size_t)(c.last - c.first), sizeof *c.durations);
  c.given = calloc((size_t)resources, sizeof *c.given);
  bool ok = c.queue && c.replicas && c.parts && c.durations && c.given;
  if (!ok) snprintf(error->text, sizeof error->text, "no memory for the cluster");
  ok = ok && straggler_initialize(&c.straggler, s, error) && run(&c, outcome, error);
  straggler_deinitialize(&c.straggler);
  event_queue_free(c.queue);
  free(c.replicas);
  free(c.parts);
  free(c.durations);
  free(c.given);
  return ok;
}
