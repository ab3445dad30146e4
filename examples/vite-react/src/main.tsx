import type { Session } from "@supabase/supabase-js";
import { KeyframeProvider } from "keyframe-client/react";
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { FilmPage } from "./FilmPage";
import { SignIn } from "./SignIn";
import { createKeyframe, supabase } from "./services";
import "./style.css";

function App() {
  const [session, setSession] = useState<Session | null>();
  useEffect(() => {
    const { data } = supabase.auth.onAuthStateChange((_event, next) => setSession(next));
    return () => data.subscription.unsubscribe();
  }, []);
  if (session === undefined) return null;
  return session ? <SignedIn key={session.user.id} email={session.user.email ?? ""} /> : <SignIn />;
}

/** By its key, another user has another client and sees nothing of the one before. */
function SignedIn({ email }: { email: string }) {
  const [keyframe] = useState(createKeyframe);
  return (
    <KeyframeProvider client={keyframe}>
      <FilmPage email={email} />
    </KeyframeProvider>
  );
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
