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
#include <string>
#include <utility>

#include "leat/cpp/handle.hpp"

LEAT_CPP_BEGIN_NAMESPACE

/// A code and, unless it is TF_OK, a message.
class Status {
 public:
  Status() = default;
  LEAT_CPP_COLD Status(TF_Code code, const std::string& message)
      : code_(code), message_(message) {}
  LEAT_CPP_CALL Status(const Status& other) = default;
  LEAT_CPP_CALL Status& operator=(const Status& other) = default;
  LEAT_CPP_CALL ~Status() = default;
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

namespace detail {

/// The TF_Status that calls of the C API set.
class CallStatus {
 public:
  LEAT_CPP_CALL CallStatus() : status_(TF_NewStatus()) {}
  LEAT_CPP_CALL ~CallStatus() = default;
  operator TF_Status*() const { return status_.get(); }
  bool ok() const { return TF_GetCode(status_.get()) == TF_OK; }
  LEAT_CPP_CALL Status get() const { return {TF_GetCode(status_.get()), TF_Message(status_.get())}; }

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

/// Calls |function|, which C called and into which no exception may pass; the error that it ends with.
/// |who| is the subject of the message where that says nothing itself.
template <class Function>
Status guarded(Function&& function, const char* who) {
#ifdef LEAT_NO_EXCEPTIONS
  (void)who;
  function();
#else
  try {
    function();
  } catch (const Error& error) {
    return error.status();
  } catch (const std::exception& error) {
    return Status(TF_UNKNOWN, error.what());
  } catch (...) {
    return Status(TF_UNKNOWN, std::string(who) + " ended with an exception");
  }
#endif
  return Status();
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
