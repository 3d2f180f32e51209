# SPDX-License-Identifier: Apache-2.0
need build test
say "packages are there"
