import { SignIn } from "../session";

export default SignIn;
