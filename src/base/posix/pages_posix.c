// Pages through mmap. An alignment above the page size is had by mapping more and giving the ends
// back.
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/pages.h"

#define MAX_PAGES_BYTES ((size_t)1 << 47)  // no address space holds more

// Linux 5.14; what is older refuses it, and faults as before.
#if defined(__linux__) && !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

static size_t page_bytes(void) {
  long size = sysconf(_SC_PAGESIZE);
  return size > 0 ? (size_t)size : 4096;
}

static leat_status_t refuse(size_t size_bytes) {
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "Page allocation failed: the system gave no %zu bytes", size_bytes);
}

leat_status_t leat_pages_allocate(size_t size_bytes, size_t alignment, void** out_pages) {
  *out_pages = NULL;
  size_t page = page_bytes();
  if (size_bytes == 0 || size_bytes > MAX_PAGES_BYTES || alignment > MAX_PAGES_BYTES) {
    return refuse(size_bytes);
  }
  size_t wanted = leat_align_up(size_bytes, page);
  size_t extra = alignment > page ? alignment - page : 0;
  char* mapped = mmap(NULL, wanted + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
  if (mapped == MAP_FAILED) return refuse(size_bytes);
  size_t address = (size_t)(uintptr_t)mapped;
  size_t before = extra ? leat_align_up(address, alignment) - address : 0;
  if (before > 0) munmap(mapped, before);
  if (extra > before) munmap(mapped + before + wanted, extra - before);
  *out_pages = mapped + before;
  return leat_ok_status();
}

void leat_pages_free(void* pages, size_t size_bytes) {
  if (pages) munmap(pages, leat_align_up(size_bytes, page_bytes()));
}

static void make_present(void* begin, size_t size_bytes) {
#if defined(MADV_POPULATE_WRITE)
  size_t page = page_bytes();
  char* first = (char*)begin - ((uintptr_t)begin & (page - 1));
  char* end = (char*)begin + size_bytes;
  end -= (uintptr_t)end & (page - 1);
  if (first < end) madvise(first, (size_t)(end - first), MADV_POPULATE_WRITE);
#else
  (void)begin;
  (void)size_bytes;
#endif
}

void leat_pages_advise(void* pages, size_t size_bytes, leat_pages_advice_t advice) {
#if defined(MADV_HUGEPAGE)
  if (advice == LEAT_PAGES_HUGE) madvise(pages, size_bytes, MADV_HUGEPAGE);
#endif
  if (advice == LEAT_PAGES_PRESENT) make_present(pages, size_bytes);
  if (advice == LEAT_PAGES_FORBIDDEN) mprotect(pages, size_bytes, PROT_NONE);
  if (advice == LEAT_PAGES_UNNEEDED) madvise(pages, size_bytes, MADV_DONTNEED);
}
