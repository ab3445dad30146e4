import { Alert } from "@mantine/core";
import { useState } from "react";
import { useLocation } from "react-router";
import { useServices } from "../services.ts";
import { MailSent, pageAddress } from "./MailSent.tsx";
import { AuthAlert, CredentialFields, FormLink, SessionForm } from "./SessionForm.tsx";
import { checkEmail, checkNewPassword, useAuthCall, useAuthForm } from "./use-auth-form.ts";
import { BusyButton } from "../ui/Buttons.tsx";

/** With email confirmation on, sign-up returns no session: an email is sent instead. */
export default function SignUpPage() {
  const { auth } = useServices();
  const { search } = useLocation();
  const [unconfirmed, setUnconfirmed] = useState<string | null>(null);
  const checks = { email: checkEmail, password: checkNewPassword };
  const { field, props } = useAuthForm(checks, async (credentials) => {
    const answer = await auth.signUp({ ...credentials, options: { emailRedirectTo: pageAddress() } });
    if (!answer.error && answer.data.session === null) setUnconfirmed(credentials.email);
    return answer;
  });
  if (unconfirmed !== null) return <ConfirmAddress email={unconfirmed} />;
  return (
    <SessionForm
      title="Create an account"
      submit="Create account"
      {...props}
      links={<FormLink to={`/sign-in${search}`}>Already have an account? Sign in</FormLink>}
    >
      <CredentialFields field={field} isNew />
    </SessionForm>
  );
}

/** Asks the user to confirm the address. Does not reveal whether the account existed. */
function ConfirmAddress({ email }: { email: string }) {
  const { auth } = useServices();
  const [isSentAgain, setSentAgain] = useState(false);
  const { run, isBusy, problem } = useAuthCall<void>(async () => {
    const options = { emailRedirectTo: pageAddress() };
    const answer = await auth.resend({ type: "signup", email, options });
    setSentAgain(!answer.error);
    return answer;
  });
  return (
    <MailSent text={`We sent an email to ${email}. Open its link to confirm your address.`}>
      <AuthAlert problem={problem} />
      {isSentAgain && problem === null && (
        <Alert color="green" role="status">
          Email sent again. Check your spam folder too.
        </Alert>
      )}
      <BusyButton variant="default" isBusy={isBusy} onClick={() => run()}>
        Send again
      </BusyButton>
    </MailSent>
  );
}
