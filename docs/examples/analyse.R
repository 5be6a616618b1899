# One survey's results in R, by HTTP alone:
#   Rscript analyse.R http://127.0.0.1:8000 work analyst.token team=workshop team,bullied
# The last two, a group and two questions, are the survey's first answer and questions by default.
# The token never stands in an address, where logs would keep it.

given <- commandArgs(trailingOnly = TRUE)
collector <- given[1]
survey <- given[2]
token <- trimws(readLines(given[3], n = 1))
chosen <- function(place, usual) if (length(given) < place) usual else given[place]

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

found <- read.csv(fetch("overview", "csv"), encoding = "UTF-8")
shares <- found[found$quantity == "share", ]
shares$error <- (shares$upper - shares$lower) / 2
print(shares[c("question", "answer", "value", "error", "reliability", "reports")], digits = 3)

# The same of one group alone: `filter` says so in every row.
one <- chosen(4, paste0(shares$question[1], "=", shares$answer[1]))
group <- read.csv(fetch("overview", "csv", where = one), encoding = "UTF-8")
print(group[c("question", "answer", "quantity", "value", "lower", "upper", "filter")], digits = 3)

# Parquet keeps the types of columns; it takes the package arrow.
two <- chosen(5, paste(head(unique(shares$question), 2), collapse = ","))
if (requireNamespace("arrow", quietly = TRUE) && grepl(",", two)) {
  cells <- arrow::read_parquet(fetch("crosstab", "parquet", attributes = two))
  cells <- cells[cells$quantity == "share", ]
  print(as.data.frame(cells[c(strsplit(two, ",")[[1]], "value", "lower", "upper")]), digits = 3)
}
