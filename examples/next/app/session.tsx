"use client";
import { type FormEvent, useState } from "react";
import { supabaseOfBrowser } from "../lib/browser";

/** Loads another page afterwards: what a page has read is of one user. */
export function SignIn() {
  const [message, setMessage] = useState("");

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const credentials = { email: String(form.get("email")), password: String(form.get("password")) };
    const { error } = await supabaseOfBrowser().auth.signInWithPassword(credentials);
    if (error) setMessage(error.message);
    else location.assign("/");
  }

  return (
    <form onSubmit={submit}>
      <h1>Films</h1>
      <label>
        Email <input name="email" type="email" autoComplete="email" required />
      </label>
      <label>
        Password <input name="password" type="password" autoComplete="current-password" required />
      </label>
      <button type="submit">Sign in</button>
      <p role="alert">{message}</p>
    </form>
  );
}

export function SignOut() {
  async function signOut() {
    // By default Auth ends all of the user's sessions, those of their agents too.
    await supabaseOfBrowser().auth.signOut({ scope: "local" });
    location.assign("/sign-in");
  }
  return (
    <button type="button" onClick={signOut}>
      Sign out
    </button>
  );
}
