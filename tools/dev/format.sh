# SPDX-License-Identifier: Apache-2.0
need lint
git ls-files '*.h' '*.cc' | xargs clang-format-16 -i
