// Steps of a worker take different times, and a cluster that waits for its slowest worker feels it.
// The factor by which a step is longer comes from a lognormal distribution, whose median is 1; with
// a tail, a step takes a fixed factor longer with some chance, as on machines that are shared. Or
// it comes from measured times: a number between two neighbours of the sorted list, so that the
// distribution is that of the file whatever it looks like. The generator is splitmix64, which is a
// counter and a mixing of its bits, so a seed gives the same numbers on each machine.
#include "simulate/straggler.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SAMPLES = 1000000 };

static uint64_t next_bits(straggler_t* s) {
  uint64_t x = s->state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double straggler_uniform(straggler_t* s) { return (double)(next_bits(s) >> 11) * 0x1p-53; }

// From the normal distribution, by the method of Box and Muller.
static double normal(straggler_t* s) {
  double radius = sqrt(-2 * log(1 - straggler_uniform(s)));
  return radius * cos(6.283185307179586 * straggler_uniform(s));
}

static double sample(straggler_t* s) {
  double at = straggler_uniform(s) * (s->sample_count - 1);
  int low = (int)at;
  int high = low + 1 < s->sample_count ? low + 1 : low;
  return s->samples[low] + (at - low) * (s->samples[high] - s->samples[low]);
}

double straggler_next(straggler_t* s) {
  double factor = s->samples ? sample(s) : s->lognormal > 0 ? exp(s->lognormal * normal(s)) : 1;
  if (s->tail_chance > 0 && straggler_uniform(s) < s->tail_chance) factor *= s->tail_factor;
  return factor;
}

// ---- Measured times -----------------------------------------------------------------------------

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// Appends a sample, for which there is room at first for 1,024, then for twice as many.
static bool append(straggler_t* s, double value) {
  int count = s->sample_count;
  if (count == 0 || (count >= 1024 && (count & (count - 1)) == 0)) {
    double* samples = realloc(s->samples, (count ? 2 * (size_t)count : 1024) * sizeof *samples);
    if (!samples) return false;
    s->samples = samples;
  }
  s->samples[s->sample_count++] = value;
  return true;
}

static bool read_samples(straggler_t* s, FILE* file, const char* path, scenario_error_t* error) {
  char line[128];
  for (int number = 1; fgets(line, sizeof line, file); ++number) {
    line[strcspn(line, "#\r\n")] = 0;
    char* end;
    double value = strtod(line, &end);
    if (end == line && !line[strspn(line, " \t")]) continue;
    if (end == line || end[strspn(end, " \t")] || !(value > 0 && value < 1e12)) {
      snprintf(error->text, sizeof error->text,
               "%s:%d: a time is '%s', must be a number above 0, one a line", path, number, line);
      return false;
    }
    if (s->sample_count == MAX_SAMPLES || !append(s, value)) {
      snprintf(error->text, sizeof error->text, "%s:%d: more times than the %d that are read",
               path, number, s->sample_count);
      return false;
    }
  }
  if (s->sample_count == 0) {
    snprintf(error->text, sizeof error->text, "%s: has no times, must have one a line", path);
    return false;
  }
  return true;
}

bool straggler_initialize(straggler_t* s, const scenario_t* scenario, scenario_error_t* error) {
  *s = (straggler_t){.state = (uint64_t)scenario->seed, .lognormal = scenario->lognormal,
                     .tail_chance = scenario->tail_chance, .tail_factor = scenario->tail_factor};
  if (!scenario->samples_path) return true;
  FILE* file = fopen(scenario->samples_path, "r");
  if (!file) {
    snprintf(error->text, sizeof error->text, "samples is '%s', must be a file: %s",
             scenario->samples_path, strerror(errno));
    return false;
  }
  bool ok = read_samples(s, file, scenario->samples_path, error);
  fclose(file);
  if (!ok) return false;
  qsort(s->samples, (size_t)s->sample_count, sizeof *s->samples, compare);
  double median = s->samples[s->sample_count / 2];
  for (int i = 0; i < s->sample_count; ++i) s->samples[i] /= median;
  return true;
}

void straggler_deinitialize(straggler_t* s) { free(s->samples); }
