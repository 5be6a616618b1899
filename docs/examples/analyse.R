# One survey's results in R, by HTTP alone:
#   Rscript analyse.R http://127.0.0.1:8000 work analyst.token
# The token never stands in an address, where logs would keep it.

given <- commandArgs(trailingOnly = TRUE)
collector <- given[1]
survey <- given[2]
token <- trimws(readLines(given[3], n = 1))

# One analysis as a file; what it is asked stands in the address, as in docs/protocol.md.
fetch <- function(analysis, format, ...) {
  asked <- c(..., format = format)
  asked <- paste0(names(asked), "=", vapply(asked, URLencode, "", reserved = TRUE), collapse = "&")
  file <- tempfile(fileext = paste0(".", format))
  status <- download.file(
    paste0(collector, "/v1/surveys/", survey, "/", analysis, "?", asked), file,
    method = "libcurl", mode = "wb", quiet = TRUE,
    headers = c(Authorization = paste("Bearer", token))
  )
  stopifnot(status == 0)
  file
}

shares <- read.csv(fetch("overview", "csv"), encoding = "UTF-8")
shares$error <- (shares$upper - shares$lower) / 2
print(shares[c("attribute", "answer", "share", "error", "usability", "reports")], digits = 3)

# The same of one group alone: `filter` says so in every row.
group <- read.csv(fetch("overview", "csv", where = "team=workshop"), encoding = "UTF-8")
print(group[c("attribute", "answer", "share", "lower", "upper", "filter")], digits = 3)

# Parquet keeps the types of columns; it takes the package arrow.
if (requireNamespace("arrow", quietly = TRUE)) {
  cells <- arrow::read_parquet(fetch("crosstab", "parquet", attributes = "team,bullied"))
  print(as.data.frame(cells[c("team", "bullied", "share", "lower", "upper")]), digits = 3)
}
