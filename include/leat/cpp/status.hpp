// leat/cpp/status.hpp: how the C++ front end reports failure. Part of leat/leat.hpp.
//
// There are two ways, and a translation unit has one of them:
//
// - By default a function that fails throws leat::Error, and result<T> below is T itself.
// - With LEAT_NO_EXCEPTIONS (which -fno-exceptions implies) nothing throws. Functions return
//   expected<T>, and a scope keeps the first error of the operations that are added through it.
//
// Both ways may be linked into one program: they lie in different inline namespaces.
#ifndef LEAT_CPP_STATUS_HPP_
#define LEAT_CPP_STATUS_HPP_

#include <exception>
#include <memory>
#include <string>
#include <utility>

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

LEAT_CPP_BEGIN_NAMESPACE

/// A code and, unless it is TF_OK, a message.
class Status {
 public:
  Status() = default;
  Status(TF_Code code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == TF_OK; }
  TF_Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  TF_Code code_ = TF_OK;
  std::string message_;
};

/// What is thrown: the code and the message of a Status.
class Error : public std::exception {
 public:
  explicit Error(Status status) : status_(std::move(status)) {}
  const char* what() const noexcept override { return status_.message().c_str(); }
  TF_Code code() const { return status_.code(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

/// A value, or the status that says why there is none. Value-initialised T while there is none.
template <class T>
class expected {
 public:
  expected(T value) : value_(std::move(value)) {}
  expected(Status status) : status_(std::move(status)) {}
  bool ok() const { return status_.ok(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T&& operator*() && { return std::move(value_); }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_{};
  Status status_;
};

template <>
class expected<void> {
 public:
  expected() = default;
  expected(Status status) : status_(std::move(status)) {}
  bool ok() const { return status_.ok(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

#ifdef LEAT_NO_EXCEPTIONS
template <class T>
using result = expected<T>;
#else
template <class T>
using result = T;
#endif

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

namespace detail {

/// The TF_Status that calls of the C API set.
class CallStatus {
 public:
  CallStatus() : status_(TF_NewStatus()) {}
  operator TF_Status*() const { return status_.get(); }
  bool ok() const { return TF_GetCode(status_.get()) == TF_OK; }
  Status get() const { return {TF_GetCode(status_.get()), TF_Message(status_.get())}; }

 private:
  Handle<TF_Status, TF_DeleteStatus> status_;
};

/// Ends a function that returns result<T>: the value that |make| gives, or the error.
template <class Make>
auto finish(const Status& status, Make make) -> result<decltype(make())> {
#ifdef LEAT_NO_EXCEPTIONS
  if (!status.ok()) return status;
#else
  if (!status.ok()) throw Error(status);
#endif
  return make();
}
inline result<void> finish(const Status& status) {
#ifdef LEAT_NO_EXCEPTIONS
  return status;
#else
  if (!status.ok()) throw Error(status);
#endif
}

}  // namespace detail

/// A serialised message (GraphDef, RunMetadata, ...). |type| is its name without the package.
class Message {
 public:
  Message() = default;
  Message(std::string type, std::string bytes) : type_(std::move(type)), bytes_(std::move(bytes)) {}
  /// Of protocol buffers' text format. INVALID_ARGUMENT for other text.
  static result<Message> parse(const std::string& type, const std::string& text) {
    detail::CallStatus status;
    Handle<TF_Buffer, TF_DeleteBuffer> in(TF_NewBufferFromString(text.data(), text.size()));
    Handle<TF_Buffer, TF_DeleteBuffer> out(
        leat_message_from_text(type.c_str(), in.get(), status));
    return detail::finish(status.get(), [&] { return Message(type, out.get()); });
  }
  Message(std::string type, const TF_Buffer* buffer)
      : type_(std::move(type)),
        bytes_(static_cast<const char*>(buffer->data), buffer->data ? buffer->length : 0) {}
  const std::string& type() const { return type_; }
  const std::string& bytes() const { return bytes_; }
  result<std::string> text() const {
    detail::CallStatus status;
    Handle<TF_Buffer, TF_DeleteBuffer> in(buffer());
    Handle<TF_Buffer, TF_DeleteBuffer> out(leat_message_to_text(type_.c_str(), in.get(), status));
    return detail::finish(status.get(), [&] { return Message("", out.get()).bytes_; });
  }
  /// A copy for the C API, which the caller deletes.
  TF_Buffer* buffer() const { return TF_NewBufferFromString(bytes_.data(), bytes_.size()); }

 private:
  std::string type_, bytes_;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_STATUS_HPP_
