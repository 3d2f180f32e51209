// SPDX-License-Identifier: Apache-2.0
#pragma once
// HTTPS of RFC 9411 (sections 7.6 to 7.9) in one place: its suites, the rows of plan rfc9411, and
// the checks of them. control-only.
#include "checks.h"
#include "merlon/lab_run/plan.h"
#include "merlon/lab_run/suite.h"
#include "merlon/lab_tcp/tls_spec.h"

namespace merlon::lab {

// From the row's parameters "tls", "tls_key", "tls_cipher" and "tls_reuse"; without "tls": none.
base::Result<TlsSpec> tls_of(const Row& row);

std::vector<Suite> https_suites();
void add_https_rows(Plan& plan);
std::vector<Check> https_checks();

}  // namespace merlon::lab
