import type { Session } from "@supabase/supabase-js";
import { KeyframeProvider } from "keyframe-client/react";
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { FilmPage } from "./FilmPage";
import { SignIn } from "./SignIn";
import { keyframe, supabase } from "./services";
import "./style.css";

function App() {
  const [session, setSession] = useState<Session | null>();
  useEffect(() => {
    const { data } = supabase.auth.onAuthStateChange((_event, next) => setSession(next));
    return () => data.subscription.unsubscribe();
  }, []);
  if (session === undefined) return null;
  // The key discards the films of the previous user.
  return session ? <FilmPage key={session.user.id} email={session.user.email ?? ""} /> : <SignIn />;
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <KeyframeProvider client={keyframe}>
      <App />
    </KeyframeProvider>
  </StrictMode>,
);
