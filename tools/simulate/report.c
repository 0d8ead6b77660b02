// What came of a simulation, for people as lines or a table, and for programs as JSON. The
// bottleneck is named from what was used: a resource that is busy nearly all the time bounds the
// throughput, whatever else is improved. Where none is, a step is as long as its longest chain, and
// what the workers do most of their time is told: wait for the slowest of them, compute, or wait
// for messages. The limits between these cases (80 % and half of the time) are a convention.
#include "simulate/report.h"

#include <math.h>
#include <string.h>

#include "json.h"

#define IS_BUSY 0.8

static const struct {
  const char *name, *words;
} kUsages[USAGE_COUNT] = {
    [USAGE_WORKER_CPU] = {"worker_cpu", "the workers' processors compute"},
    [USAGE_WORKER_SEND] = {"worker_send", "the workers' network interfaces send"},
    [USAGE_WORKER_RECEIVE] = {"worker_receive", "the workers' network interfaces receive"},
    [USAGE_SERVER_CPU] = {"server_cpu", "the servers' processors compute"},
    [USAGE_SERVER_SEND] = {"server_send", "the servers' network interfaces send"},
    [USAGE_SERVER_RECEIVE] = {"server_receive", "the servers' network interfaces receive"},
};

static const char* time_text(double seconds, char text[32]) {
  bool is_long = seconds >= 1;
  snprintf(text, 32, "%.3g %s", is_long ? seconds : seconds * 1e3, is_long ? "s" : "ms");
  return text;
}

// The resource of which one is used most.
static int busiest(const outcome_t* o) {
  int most = 0;
  for (int i = 1; i < USAGE_COUNT; ++i) {
    if (o->busiest[i] > o->busiest[most]) most = i;
  }
  return most;
}

// Whether an interface of the side whose first usage is |side| sends and receives in turn, and is
// busy with both together.
static bool is_network_busy(const outcome_t* o, int side) {
  return o->usage[side + 1] + o->usage[side + 2] >= IS_BUSY;
}

// The parts of a worker's time that are neither computing nor waiting for others are messages.
static void name_bottleneck(const scenario_t* s, const outcome_t* o, char text[200]) {
  int most = busiest(o);
  int side = is_network_busy(o, USAGE_SERVER_CPU)   ? USAGE_SERVER_CPU
             : is_network_busy(o, USAGE_WORKER_CPU) ? USAGE_WORKER_CPU
                                                    : -1;
  bool is_one = s->machines == MACHINES_ONE && most == USAGE_WORKER_CPU;
  if (o->busiest[most] >= IS_BUSY) {
    bool is_uneven = o->busiest[most] > 1.1 * o->usage[most];
    snprintf(text, 200, "%s %.0f %% of the time%s",
             is_one ? "the machine's cores compute" : kUsages[most].words, 100 * o->busiest[most],
             is_uneven ? ", at the busiest of them" : "");
  } else if (side >= 0) {
    snprintf(text, 200, "the %s' network interfaces send %.0f %% of the time and receive %.0f %%",
             side ? "servers" : "workers", 100 * o->usage[side + 1], 100 * o->usage[side + 2]);
  } else if (o->waiting >= o->compute && o->waiting >= 0.5) {
    snprintf(text, 200, "workers wait %.0f %% of their time for the slowest and the update",
             100 * o->waiting);
  } else if (o->compute >= 0.5) {
    int used = snprintf(text, 200, "a worker computes %.0f %% of its time", 100 * o->compute);
    if (s->policy == POLICY_SYNC) {
      snprintf(text + used, 200 - (size_t)used, ", and waits %.0f %% for others",
               100 * o->waiting);
    }
  } else {
    snprintf(text, 200,
             "messages: workers compute %.0f %% of their time, and no resource is busy more than "
             "%.0f %%",
             100 * o->compute, 100 * o->busiest[most]);
  }
}

void report_print(const scenario_t* s, const outcome_t* o) {
  char median[32], p90[32], p99[32], window[32], bottleneck[200];
  printf("%g workers", s->workers);
  if (s->backup > 0) printf(" and %g backup", s->backup);
  printf(", %g servers, %s%s\n", s->servers, s->policy == POLICY_SYNC ? "sync" : "async",
         s->machines == MACHINES_ONE ? ", on one machine" : "");
  printf("  throughput   %.4g %s/s", o->steps_per_second,
         s->policy == POLICY_SYNC ? "updates" : "steps");
  if (s->examples > 0) printf(", %.4g examples/s", o->examples_per_second);
  printf("\n  step         median %s, 90 %% %s, 99 %% %s (%ld in %s)\n",
         time_text(o->median, median), time_text(o->p90, p90), time_text(o->p99, p99), o->steps,
         time_text(o->window, window));
  bool is_one = s->machines == MACHINES_ONE;
  if (is_one) printf("  busy         cores %.0f %%\n", 100 * o->usage[USAGE_WORKER_CPU]);
  for (int side = 0; side < 2 && !is_one; ++side) {
    const double* u = o->usage + (side ? USAGE_SERVER_CPU : USAGE_WORKER_CPU);
    printf("  %s cores %.0f %%, network sends %.0f %%, receives %.0f %%\n",
           side ? "servers     " : "workers     ", 100 * u[0], 100 * u[1], 100 * u[2]);
  }
  if (s->policy == POLICY_SYNC) {
    printf("  updates      workers wait %.0f %% of their time, %.3g gradients come too late\n",
           100 * o->waiting, o->dropped);
  }
  name_bottleneck(s, o, bottleneck);
  printf("  bottleneck   %s\n", bottleneck);
}

void report_print_heading(const char* field) {
  printf("%12s %10s %11s %10s %10s %10s  %s\n", field, "steps/s", "examples/s", "median", "90 %",
         "99 %", "bottleneck");
}

void report_print_row(const char* value, const outcome_t* o, const scenario_t* s) {
  char median[32], p90[32], p99[32], bottleneck[200];
  name_bottleneck(s, o, bottleneck);
  printf("%12s %10.4g %11.4g %10s %10s %10s  %s\n", value, o->steps_per_second,
         o->examples_per_second, time_text(o->median, median), time_text(o->p90, p90),
         time_text(o->p99, p99), bottleneck);
}

static void print_member(const char* name, double value) {
  printf(", \"%s\": ", name);
  json_print_number(stdout, value);
}

void report_print_json(const scenario_t* s, const outcome_t* o) {
  char bottleneck[200], name[40];
  printf("{\"policy\": \"%s\"", s->policy == POLICY_SYNC ? "sync" : "async");
  print_member("workers", s->workers);
  print_member("backup", s->backup);
  print_member("servers", s->servers);
  print_member("steps", (double)o->steps);
  print_member("steps_per_s", o->steps_per_second);
  print_member("examples_per_s", o->examples_per_second);
  print_member("step_median_s", o->median);
  print_member("step_p90_s", o->p90);
  print_member("step_p99_s", o->p99);
  print_member("step_mean_s", o->mean);
  print_member("compute", o->compute);
  print_member("waiting", o->waiting);
  print_member("dropped", o->dropped);
  for (int i = 0; i < USAGE_COUNT; ++i) {
    print_member(kUsages[i].name, o->usage[i]);
    snprintf(name, sizeof name, "%s_busiest", kUsages[i].name);
    print_member(name, o->busiest[i]);
  }
  name_bottleneck(s, o, bottleneck);
  printf(", \"bottleneck\": ");
  json_print_string(stdout, bottleneck, strlen(bottleneck));
  putchar('}');
}
