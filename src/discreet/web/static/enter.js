"use strict";
// Post the token, which follows "#" so that browsers do not send it, and remove it from the address bar.
(async () => {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  const line = document.getElementById("line-1");
  line.textContent = "One moment …";
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("/session", { method: "POST", body: token, headers: { "Content-Type": "text/plain" } });
  if (answer.ok) location.replace("/");
  else if (answer.headers.get("Content-Type").startsWith("text/plain")) line.textContent = await answer.text();
  else if (location.protocol === "https:") line.textContent = `This server was not started for this address. Behind a proxy, start it with --public-url ${location.origin}`;
  else line.textContent = "This server was not started for this address. Open the link that it printed as it stands.";
})();
