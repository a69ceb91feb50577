// Holds an image of an attribute in its memory, in variables of the types that MLIR and Shardy have, and reads
// it as their accessors do: HOLDER FILE BASE prints what it finds, and calls here() for a debugger to stop at.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>

template <typename T> struct ArrayRef {
  const T *data;
  size_t size;
  const T *begin() const { return data; }
  const T *end() const { return data + size; }
};
using StringRef = ArrayRef<char>;

namespace mlir {
struct AttributeStorage {
  void *abstract;
};
class Attribute {
public:
  using ImplType = AttributeStorage;
  ImplType *impl;
};
class IntegerAttr : public Attribute {};
template <typename Storage> class Of : public Attribute {
public:
  const Storage *operator->() const { return static_cast<Storage *>(impl); }
};
namespace detail {
struct StringAttrStorage : AttributeStorage {
  void *type;
  StringRef value;
  void *referencedDialect;
};
} // namespace detail
class StringAttr : public Of<detail::StringAttrStorage> {};
namespace detail {
struct SymbolRefAttrStorage : AttributeStorage {
  StringAttr rootReference;
  ArrayRef<Attribute> nestedReferences;
};
} // namespace detail
class FlatSymbolRefAttr : public Of<detail::SymbolRefAttrStorage> {};
namespace sdy {
namespace detail {
struct SubAxisInfoAttrStorage : AttributeStorage {
  int64_t preSize, size;
};
} // namespace detail
class SubAxisInfoAttr : public Of<detail::SubAxisInfoAttrStorage> {};
namespace detail {
struct AxisRefAttrStorage : AttributeStorage {
  StringRef name;
  SubAxisInfoAttr subAxisInfo;
};
} // namespace detail
class AxisRefAttr : public Of<detail::AxisRefAttrStorage> {};
namespace detail {
struct DimensionShardingAttrStorage : AttributeStorage {
  ArrayRef<AxisRefAttr> axes;
  bool isClosed;
  std::optional<int64_t> priority;
};
} // namespace detail
class DimensionShardingAttr : public Of<detail::DimensionShardingAttrStorage> {};
namespace detail {
struct TensorShardingAttrStorage : AttributeStorage {
  Attribute meshOrRef;
  ArrayRef<DimensionShardingAttr> dimShardings;
  ArrayRef<AxisRefAttr> replicatedAxes, unreducedAxes;
};
} // namespace detail
class TensorShardingAttr : public Of<detail::TensorShardingAttrStorage> {};
} // namespace sdy
} // namespace mlir
using namespace mlir;

static void print(ArrayRef<sdy::AxisRefAttr> axes) {
  for (sdy::AxisRefAttr axis : axes) {
    printf(" %.*s", static_cast<int>(axis->name.size), axis->name.data);
    if (axis->subAxisInfo.impl)
      printf(":(%" PRId64 ")%" PRId64, axis->subAxisInfo->preSize, axis->subAxisInfo->size);
  }
  printf(";");
}

static void here() { fflush(stdout); }

static void show(sdy::TensorShardingAttr sharding, const Attribute &mesh) {
  Attribute attribute = mesh, null = {};
  FlatSymbolRefAttr symbol;
  symbol.impl = mesh.impl;
  StringAttr name = symbol->rootReference;
  IntegerAttr other;
  other.impl = mesh.impl;
  auto *storage = static_cast<sdy::detail::TensorShardingAttrStorage *>(sharding.impl);
  sdy::DimensionShardingAttr first = sharding->dimShardings.data[0], wrong = {};
  wrong.impl = reinterpret_cast<AttributeStorage *>(8);
  here();
  (void)attribute, (void)null, (void)name, (void)storage, (void)first;
}

int main(int, char **arguments) {
  int file = open(arguments[1], O_RDONLY);
  struct stat found;
  fstat(file, &found);
  void *base = reinterpret_cast<void *>(strtoull(arguments[2], nullptr, 0));
  if (mmap(base, found.st_size, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0) != base)
    return 1;
  sdy::TensorShardingAttr sharding;
  sharding.impl = static_cast<AttributeStorage *>(base);
  auto *symbol = static_cast<detail::SymbolRefAttrStorage *>(sharding->meshOrRef.impl);
  StringRef name = symbol->rootReference->value;
  printf("%.*s %zu;", static_cast<int>(name.size), name.data, symbol->nestedReferences.size);
  for (sdy::DimensionShardingAttr dim : sharding->dimShardings) {
    print(dim->axes);
    printf(" %d %" PRId64 ";", dim->isClosed, dim->priority.value_or(-7));
  }
  print(sharding->replicatedAxes);
  print(sharding->unreducedAxes);
  printf("\n");
  show(sharding, sharding->meshOrRef);
}
