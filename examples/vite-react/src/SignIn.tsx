import { type SubmitEvent, useState } from "react";
import { supabase } from "./services";

export function SignIn() {
  const [message, setMessage] = useState("");
  const [busy, setBusy] = useState(false);

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const credentials = { email: String(form.get("email")), password: String(form.get("password")) };
    const isNew = (event.nativeEvent.submitter as HTMLButtonElement | null)?.value === "new";
    setBusy(true);
    const { data, error } = isNew
      ? await supabase.auth.signUp(credentials)
      : await supabase.auth.signInWithPassword(credentials);
    setMessage(error?.message ?? (data.session ? "" : "Confirm your email address, then sign in."));
    setBusy(false);
  }

  return (
    <main className="narrow">
      <h1>Make a film</h1>
      <form onSubmit={submit}>
        <label>
          Email <input name="email" type="email" autoComplete="email" required />
        </label>
        <label>
          Password <input name="password" type="password" autoComplete="current-password" required />
        </label>
        <div className="row">
          <button type="submit" disabled={busy}>
            Sign in
          </button>
          <button type="submit" value="new" className="quiet" disabled={busy}>
            Create account
          </button>
        </div>
        <p role="status">{message}</p>
      </form>
    </main>
  );
}
