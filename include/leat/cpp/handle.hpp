// leat/cpp/handle.hpp: who owns an object: one handle, or several. Part of leat/leat.hpp.
//
// These classes exist so that programs compile quickly. The standard ones make code for each type
// that they are used with, and a compiler copies it to each place of use; what a Shared or an
// Elements does is either one function for all types or a few instructions.
#ifndef LEAT_CPP_HANDLE_HPP_
#define LEAT_CPP_HANDLE_HPP_

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "leat/inspect.h"
#include "tensorflow/c/c_api.h"

#if !defined(LEAT_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define LEAT_NO_EXCEPTIONS 1
#endif

#ifdef LEAT_NO_EXCEPTIONS
#define LEAT_CPP_BEGIN_NAMESPACE namespace leat { inline namespace results {
#else
#define LEAT_CPP_BEGIN_NAMESPACE namespace leat { inline namespace exceptions {
#endif
#define LEAT_CPP_END_NAMESPACE } }

// What builds graphs runs once, and reports of errors hardly ever: small code compiles faster.
#define LEAT_CPP_COLD [[gnu::cold, gnu::noinline]]
// What runs in each step too, so that it is compiled for speed, but is called rather than copied.
#define LEAT_CPP_CALL [[gnu::noinline]]

LEAT_CPP_BEGIN_NAMESPACE

/// Owns an object of the C API, and frees it. Moved from, it is empty.
template <class T, void (*Free)(T*)>
class Handle {
 public:
  explicit Handle(T* object = nullptr) : object_(object) {}
  Handle(Handle&& other) noexcept : object_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Handle() { reset(); }
  T* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* release() { return std::exchange(object_, nullptr); }
  void reset(T* object = nullptr) {
    T* old = std::exchange(object_, object);
    if (old) Free(old);
  }

 private:
  T* object_;
};

/// A list as an argument: values in braces, or a vector. It is borrowed for the call.
template <class T>
class ListOf {
 public:
  ListOf(const T* values, std::size_t size) : begin_(values), size_(size) {}
  ListOf(std::initializer_list<T> values) : size_(values.size()) { begin_ = values.begin(); }
  ListOf(const std::vector<T>& values) : begin_(values.data()), size_(values.size()) {}
  const T* begin() const { return begin_; }
  const T* end() const { return begin_ + size_; }
  std::size_t size() const { return size_; }
  const T& operator[](std::size_t i) const { return begin_[i]; }

 private:
  const T* begin_ = nullptr;
  std::size_t size_;
};

namespace detail {

/// Shares an object of any type: its last copy frees it. Copies may be made and destroyed by
/// several threads at once. Moved from, it is empty.
class SharedObject {
 public:
  SharedObject() = default;
  /// Takes over |object|, unless it is NULL.
  LEAT_CPP_CALL SharedObject(void* object, void (*free)(void* object)) {
    if (!object) return;
    struct Guard {
      void* object;
      void (*free)(void* object);
      ~Guard() {
        if (object) free(object);  // there was no memory for the count
      }
    } guard = {object, free};
    count_ = new Count{object, free, 1};
    guard.object = nullptr;
  }
  LEAT_CPP_CALL SharedObject(const SharedObject& other) : count_(other.count_) {
    if (count_) __atomic_add_fetch(&count_->owners, 1, __ATOMIC_RELAXED);
  }
  SharedObject(SharedObject&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  LEAT_CPP_CALL SharedObject& operator=(const SharedObject& other) {
    SharedObject copy(other);
    std::swap(count_, copy.count_);
    return *this;
  }
  LEAT_CPP_CALL SharedObject& operator=(SharedObject&& other) noexcept {
    SharedObject taken(std::move(other));
    std::swap(count_, taken.count_);
    return *this;
  }
  ~SharedObject() {
    if (count_) release();
  }
  void* object() const { return count_ ? count_->object : nullptr; }

 private:
  struct Count {
    void* object;
    void (*free)(void* object);
    long owners;
  };
  LEAT_CPP_CALL void release() {
    // The last owner sees what the others wrote before they let go.
    if (__atomic_sub_fetch(&count_->owners, 1, __ATOMIC_ACQ_REL)) return;
    count_->free(count_->object);
    delete count_;
  }

  Count* count_ = nullptr;
};

/// The same for objects of one type.
template <class T>
class Shared : private SharedObject {
 public:
  Shared() = default;
  /// Takes over what `new` gave.
  explicit Shared(T* object)
      : SharedObject(object, [](void* own) { delete static_cast<T*>(own); }) {}
  /// Takes over an object of the C API.
  template <void (*Free)(T*)>
  static Shared of(T* object) {
    return Shared(object, [](void* own) { Free(static_cast<T*>(own)); });
  }
  T* get() const { return static_cast<T*>(object()); }
  T& operator*() const { return *get(); }
  T* operator->() const { return get(); }
  explicit operator bool() const { return object() != nullptr; }

 private:
  Shared(T* object, void (*free)(void* object)) : SharedObject(object, free) {}
};

/// Room for |capacity| elements, for a call of the C API to read or to write; they are zero at
/// first.
template <class T>
class Elements {
 public:
  explicit Elements(std::size_t capacity) : data_(new T[capacity]()) {}
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  ~Elements() { delete[] data_; }
  void add(const T& element) { data_[count_++] = element; }
  /// Those that were added.
  operator ListOf<T>() const { return {data_, static_cast<std::size_t>(count_)}; }
  T* data() const { return data_; }
  /// How many were added.
  int count() const { return count_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* const data_;
  int count_ = 0;
};

}  // namespace detail

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_HANDLE_HPP_
