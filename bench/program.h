// What the programs of this folder share that are rows of bench/run.py by themselves: the library
// is loaded from the folder argv[1] at run time, so that one program measures this library and
// TensorFlow's own, and nine samples are printed as one line, which bench/run.py reads.
#ifndef LEAT_BENCH_PROGRAM_H_
#define LEAT_BENCH_PROGRAM_H_

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SAMPLES 9

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

// Ends the program where the library cannot be loaded.
static void* open_library(int argc, char** argv) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libtensorflow.so.2", argc > 1 ? argv[1] : ".");
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library) return library;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

static int compare_samples(const void* a, const void* b) {
  return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b);
}

// |samples| [SAMPLES] in microseconds, which are sorted; |last| is a value that was computed.
static void print_samples(const char* name, double* samples, float last) {
  qsort(samples, SAMPLES, sizeof *samples, compare_samples);
  printf("%s min_us %.3f med_us %.3f p99_us %.3f last %g\n", name, samples[0],
         samples[SAMPLES / 2], samples[SAMPLES - 1], last);
}

#endif  // LEAT_BENCH_PROGRAM_H_
