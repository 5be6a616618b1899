// What became of the form; neither event ever holds an answer.
const news = document.querySelector("#news");
document.addEventListener("submitted", (event) => {
  news.textContent = event.detail.status === "waiting" ? "" : "Thank you for taking part!";
});
document.addEventListener("refused", () => {
  news.textContent = "Please come back another time.";
});
